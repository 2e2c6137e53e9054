/**
 * The cells that can be measured here, by the plans of the families. The reasons for which they skip cells also say how to get what
 * is missing.
 */
import type { Family, PlannedCell } from '../families/workload.js';
import { findRuntime, knownRuntimes } from '../host/runtimes.js';
import { planRun } from './plan.js';

/** The parts that are missing for one reason. */
export interface Missing {
  readonly reason: string;
  /** The engines, clients or runtimes that it keeps from being measured. */
  readonly names: readonly string[];
}

export interface Inventory {
  /** The engines and servers, the clients, and the runtimes other than the runtime of this process, that can be measured here. */
  readonly engines: readonly string[];
  readonly clients: readonly string[];
  readonly runtimes: readonly string[];
  readonly missing: readonly Missing[];
}

export function inventoryOf(families: readonly Family[]): Inventory {
  const { plans } = planRun(families, { filters: { family: ['*'] }, all: true, peers: true, workers: [1] });
  const cells = plans.flatMap((plan) => plan.cells);
  const missing = new Map<string, Set<string>>();
  const lacking = (name: string, reason: string): void => {
    missing.set(reason, (missing.get(reason) ?? new Set()).add(name));
  };
  /** The names of which some cell can be measured. */
  const here = (nameOf: (planned: PlannedCell) => string | undefined): string[] => {
    const names = [...new Set(cells.flatMap((planned) => nameOf(planned) ?? []))];
    return names.filter((name) => {
      const own = cells.filter((planned) => nameOf(planned) === name);
      if (own.some(({ skip }) => skip === undefined)) return true;
      for (const { skip } of own) lacking(name, skip!);
      return false;
    });
  };
  const engines = here(({ cell }) => cell.engine);
  const clients = here(({ client }) => client);
  const runtimes = knownRuntimes().filter((name) => {
    const found = findRuntime(name);
    if ('missing' in found) lacking(name, found.missing);
    return 'program' in found;
  });
  return {
    engines,
    clients,
    runtimes,
    missing: [...missing].map(([reason, names]) => ({ reason, names: [...names] })),
  };
}
