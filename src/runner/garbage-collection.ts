import { PerformanceObserver } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Span } from './time-spans.js';

/** Collects all garbage of this thread, now. */
export type CollectGarbage = () => void;

/** The collector that `--expose-gc` exposes; `undefined` without that flag. */
export function exposedCollector(): CollectGarbage | undefined {
  return typeof globalThis.gc === 'function' ? () => void globalThis.gc!() : undefined;
}

/** The same, for a program that may set V8's flags itself: contexts made after the flag is set have the collector. */
export function exposeCollector(): CollectGarbage | undefined {
  const exposed = exposedCollector();
  if (exposed !== undefined) return exposed;
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('globalThis.gc');
  return typeof collect === 'function' ? () => void collect() : undefined;
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
