import type { RunEvent } from '../runner/events.js';

/**
 * The typical number of samples of a cell, since the real number is not known in advance, and the most progress that they count
 * for.
 */
const TYPICAL_SAMPLES = 6;
const NEARLY_DONE = 0.9;

/** Estimates the time left in a run: remaining cells take as long as the measured ones, on average. */
export class TimeLeft {
  done = 0;
  total = 0;
  #measured = 0;
  #startedAt: number | undefined;
  readonly #underWay = new Map<string, number>();

  /** Takes an event. `now` is in seconds, by any one clock. */
  note(event: RunEvent, now: number): void {
    switch (event.type) {
      case 'run-started':
        this.done = event.resumedCells;
        this.total = event.totalCells;
        break;
      case 'cell-opening':
        this.#startedAt ??= now;
        break;
      case 'sample':
        this.#underWay.set(event.cell.id, Math.min(NEARLY_DONE, event.number / TYPICAL_SAMPLES));
        break;
      case 'record':
        this.done = event.doneCells;
        this.total = event.totalCells;
        this.#underWay.delete(event.record.id);
        if (event.record.outcome === 'completed') this.#measured += 1;
        break;
      default:
    }
  }

  /** The seconds left; `undefined` while there is nothing to estimate from. */
  seconds(now: number): number | undefined {
    const underWay = [...this.#underWay.values()].reduce((sum, part) => sum + part, 0);
    const measured = this.#measured + underWay;
    if (this.#startedAt === undefined || measured < 1) return undefined;
    return ((now - this.#startedAt) / measured) * Math.max(0, this.total - this.done - underWay);
  }
}

/** The text of a time: `45 s`, `3 min 20 s`, `1 h 05 min`. */
export function formatClock(seconds: number): string {
  const whole = Math.round(seconds);
  const two = (value: number): string => String(value).padStart(2, '0');
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
  return `${Math.floor(whole / 3600)} h ${two(Math.floor((whole % 3600) / 60))} min`;
}
