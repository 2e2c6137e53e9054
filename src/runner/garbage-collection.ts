import { PerformanceObserver } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Span } from './time-spans.js';

/** Collects all garbage of this thread, now. */
export type CollectGarbage = () => void;

/** The collector that `--expose-gc` exposes; `undefined` without that flag. */
export function exposedCollector(): CollectGarbage | undefined {
  return typeof globalThis.gc === 'function' ? () => void globalThis.gc!() : undefined;
}

/** Watches the garbage collections of this thread. */
export class GarbageCollectionObserver {
  #collections: Span[] = [];
  readonly #observer = new PerformanceObserver((list) => this.#note(list.getEntries()));

  start(): void {
    this.#collections = [];
    this.#observer.observe({ entryTypes: ['gc'] });
  }

  /** Ends it. The collections since the start. */
  async stop(): Promise<readonly Span[]> {
    // Node queues the entry of a collection for a later turn of the loop.
    await nextTurn();
    this.#note(this.#observer.takeRecords());
    this.#observer.disconnect();
    return this.#collections;
  }

  #note(entries: readonly { readonly startTime: number; readonly duration: number }[]): void {
    for (const { startTime, duration } of entries) {
      this.#collections.push({ from: startTime, to: startTime + duration });
    }
  }
}
