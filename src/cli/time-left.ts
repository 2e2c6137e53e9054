import type { RunEvent } from '../runner/events.js';

/**
 * Estimates the time left in a run: the processes to come take as long as those that have ended, on average. Processes that are
 * alive together are opened one after the other and then take turns, so that those opened before the last samples count as ended.
 */
export class TimeLeft {
  done = 0;
  total = 0;
  #forks = 0;
  #opened = 0;
  #ended = 0;
  #hasSampled = false;
  #startedAt = 0;
  #endedAt = 0;

  /** Takes an event. `now` is in seconds, by any one clock. */
  note(event: RunEvent, now: number): void {
    switch (event.type) {
      case 'run-started':
        this.done = event.resumedCells;
        this.total = event.totalCells;
        this.#forks = event.forks;
        break;
      case 'processes-changed':
        this.#forks += event.forks;
        break;
      case 'cell-opening':
        if (this.#opened === 0) this.#startedAt = now;
        if (this.#hasSampled) {
          this.#ended = this.#opened;
          this.#endedAt = now;
          this.#hasSampled = false;
        }
        this.#opened += 1;
        break;
      case 'sample':
        this.#hasSampled = true;
        break;
      case 'record':
        this.done = event.doneCells;
        this.total = event.totalCells;
        break;
      default:
    }
  }

  /** The seconds left. `undefined` while there is nothing to estimate from. */
  seconds(now: number): number | undefined {
    if (this.#ended < 1) return undefined;
    const each = (this.#endedAt - this.#startedAt) / this.#ended;
    return Math.max(0, each * (this.#forks - this.#ended) - (now - this.#endedAt));
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
