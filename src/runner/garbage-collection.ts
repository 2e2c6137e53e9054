import { PerformanceObserver } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CollectGarbage } from '../collect-garbage.js';
import type { Span } from './time-spans.js';

/**
 * The bytes of garbage that are tolerated: a full collection also drops compiled code whose objects are unreachable at that
 * moment, and the next measurement would include its compilation.
 */
const LITTLE_GARBAGE_BYTES = 32 << 20;

/** Collects garbage between executions, so that none pays for the garbage of another. */
export class GarbageBetween {
  readonly #collect: CollectGarbage;
  readonly #used: () => number;
  #left = 0;

  constructor(collect: CollectGarbage, used: () => number = usedBytes) {
    this.#collect = collect;
    this.#used = used;
  }

  /** Collects the young generation, and all garbage if there may be much. Returns true if it collected all. */
  async clear(): Promise<boolean> {
    this.#collect('young');
    if (this.#used() - this.#left < LITTLE_GARBAGE_BYTES) return false;
    this.#collect('all');
    // Finalizers run in the next turn, and free what the collector released.
    await nextTurn();
    // The second collection counts the memory of buffers as free that a V8 thread freed in the meantime.
    this.#collect('young');
    this.#left = this.#used();
    return true;
  }
}

function usedBytes(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Watches the garbage collections of this thread. */
export class GarbageCollectionObserver {
  #collections: Span[] = [];
  readonly #observer = new PerformanceObserver((list) => this.#note(list.getEntries()));

  start(): void {
    this.#collections = [];
    this.#observer.observe({ entryTypes: ['gc'] });
  }

  /** Ends the observation, and resolves to the collections since the start. */
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
