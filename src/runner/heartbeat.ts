import type { Span } from './time-spans.js';

const PERIOD_MS = 5;

/**
 * A timer on the event loop that should fire every 5 ms. Each late beat is a stall, from the beat's intended time: a stall of 40
 * ms is one stall, not eight missed beats.
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

  /** Ends the heartbeat, and returns the stalls since the start in order, including one that is still under way. */
  stop(): readonly Span[] {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#noteLateness(performance.now());
    return this.#stalls;
  }

  #scheduleNext(now: number): void {
    // Beats that fell into a stall are not repeated.
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
