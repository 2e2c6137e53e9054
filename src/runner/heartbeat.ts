import type { Span } from './time-spans.js';

const PERIOD_MS = 5;

/**
 * A timer on the event loop that should fire every 5 ms. Each beat that comes late is a stall, from the time for which
 * the beat was intended: a stall of 40 ms is one of 40 ms, and not eight beats that were never sent.
 */
export class Heartbeat {
  readonly #stalls: Span[] = [];
  #intended = 0;
  #timer: NodeJS.Timeout | undefined;

  start(): void {
    this.#stalls.length = 0;
    this.#intended = performance.now();
    this.#scheduleNext(this.#intended);
  }

  /** Ends it. The stalls since the start, the one that is still under way with them, in order. */
  stop(): readonly Span[] {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#noteLateness(performance.now());
    return this.#stalls;
  }

  #scheduleNext(now: number): void {
    // Beats that a stall swallowed are not made up for.
    this.#intended += PERIOD_MS * Math.max(1, Math.ceil((now - this.#intended) / PERIOD_MS));
    this.#timer = setTimeout(() => this.#beat(), this.#intended - now);
  }

  #beat(): void {
    const now = performance.now();
    this.#noteLateness(now);
    this.#scheduleNext(now);
  }

  #noteLateness(now: number): void {
    if (now > this.#intended) this.#stalls.push({ from: this.#intended, to: now });
  }
}
