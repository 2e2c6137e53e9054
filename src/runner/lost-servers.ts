import { setTimeout as delay } from 'node:timers/promises';

import { isFull, toBoundaryError } from '../errors.js';
import type { PlannedCell } from '../families/workload.js';
import type { FamilyPlan } from './plan.js';

/** The waits before the tries to reach a server again, in milliseconds. A server that is restarted after its end takes a while. */
const WAITS_MS = [0, 500, 2000];

/** The servers of a family's cells that a user has named and that have ended during the run: it measures nothing on them any more. */
export class LostServers {
  readonly #plan: FamilyPlan;
  readonly #signal: AbortSignal;
  /** Why the cells of an engine can't be measured any more. */
  readonly #reasons = new Map<string, string>();

  constructor(plan: FamilyPlan, signal: AbortSignal) {
    this.#plan = plan;
    this.#signal = signal;
  }

  /** Why a cell can't be measured any more. `undefined` if it can. */
  reasonFor({ cell }: PlannedCell): string | undefined {
    return this.#reasons.get(cell.engine);
  }

  /**
   * Looks whether the server of a cell that has failed still answers. Resolves to what to tell the user once. `undefined` if it
   * does.
   */
  async look(failed: PlannedCell): Promise<string | undefined> {
    const { family, options } = this.#plan;
    const { engine, id } = failed.cell;
    if (family.reach === undefined || this.#reasons.has(engine)) return undefined;
    let problem = '';
    for (const wait of WAITS_MS) {
      await delay(wait, undefined, { signal: this.#signal }).catch(() => {});
      if (this.#signal.aborted) return undefined;
      try {
        await family.reach(options, [failed]);
        return undefined;
      } catch (thrown) {
        // The other processes of the run are there, too.
        if (isFull(thrown)) return undefined;
        problem = toBoundaryError(thrown).message;
      }
    }
    this.#reasons.set(engine, `the server of ${engine} has not been usable since ${id} failed: ${problem}`);
    return `the server of ${engine} is not usable any more since ${id} failed; the rest of its cells is skipped: ${problem}`;
  }
}
