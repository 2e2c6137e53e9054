import { PerformanceObserver } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CollectGarbage } from '../collect-garbage.js';
import type { Span } from './time-spans.js';

/**
 * Garbage that may lie about: a collection of the rest also throws compiled code away whose objects are gone at that
 * moment, and what is measured next would be its compilation.
 */
const LITTLE_GARBAGE_BYTES = 32 << 20;

/** Clears up between executions, so that none pays for the garbage of another. */
export class GarbageBetween {
  readonly #collect: CollectGarbage;
  readonly #used: () => number;
  #left = 0;

  constructor(collect: CollectGarbage, used: () => number = usedBytes) {
    this.#collect = collect;
    this.#used = used;
  }

  /** Collects the young garbage, and all of it where there may be much; returns whether it was all. */
  async clear(): Promise<boolean> {
    this.#collect('young');
    if (this.#used() - this.#left < LITTLE_GARBAGE_BYTES) return false;
    this.#collect('all');
    // What the collector let go of, finalizers free in the next turn.
    await nextTurn();
    // Only now is the memory of buffers counted as free that a thread of V8's has freed meanwhile.
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
