import { PerformanceObserver } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Span } from './time-spans.js';

/** Collects garbage of this thread, now: the young, which takes a millisecond, or all. */
export type CollectGarbage = (which: 'young' | 'all') => void;

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

/** The collector that `--expose-gc` exposes; `undefined` without that flag. */
export function exposedCollector(): CollectGarbage | undefined {
  return typeof globalThis.gc === 'function' ? collectorOf(globalThis.gc) : undefined;
}

/** The same, for a program that may set V8's flags itself: contexts made after the flag is set have the collector. */
export function exposeCollector(): CollectGarbage | undefined {
  const exposed = exposedCollector();
  if (exposed !== undefined) return exposed;
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('globalThis.gc');
  return typeof collect === 'function' ? collectorOf(collect as NonNullable<typeof globalThis.gc>) : undefined;
}

function collectorOf(collect: NonNullable<typeof globalThis.gc>): CollectGarbage {
  // With an argument that asks for all, V8 keeps what the stack may point to.
  return (which) => void (which === 'young' ? collect({ type: 'minor', execution: 'sync' }) : collect());
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
