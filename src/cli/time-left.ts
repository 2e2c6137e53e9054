import { formatClock } from '../report/format.js';
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

  /** The processes that have ended, and the time that is left: `31 of 72 processes, about 7 s left`. Empty while no process has ended. */
  text(now: number): string {
    const left = this.seconds(now);
    return left === undefined ? '' : `${this.#ended} of ${this.#forks} processes, about ${formatClock(left)} left`;
  }

  /** The seconds left. `undefined` while there is nothing to estimate from. */
  seconds(now: number): number | undefined {
    if (this.#ended < 1) return undefined;
    const each = (this.#endedAt - this.#startedAt) / this.#ended;
    return Math.max(0, each * (this.#forks - this.#ended) - (now - this.#endedAt));
  }
}
