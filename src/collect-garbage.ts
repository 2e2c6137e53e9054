import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Collects garbage of this thread synchronously: the young generation, which is short work, or all.
 */
export type CollectGarbage = (which: 'young' | 'all') => void;

/** The collector that `--expose-gc` exposes. `undefined` without that flag. */
export function exposedCollector(): CollectGarbage | undefined {
  return typeof globalThis.gc === 'function' ? collectorOf(globalThis.gc) : undefined;
}

/** The collector, also without the flag: a context created while the flag is set has it. `undefined` if V8 has none. */
export function exposeCollector(): CollectGarbage | undefined {
  const exposed = exposedCollector();
  if (exposed !== undefined) return exposed;
  // Its engine is another than V8, and has no such flag.
  const { Bun: bun } = globalThis as { readonly Bun?: { gc(force: boolean): void } };
  if (bun !== undefined) return () => bun.gc(true);
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('globalThis.gc');
  setFlagsFromString('--no-expose-gc');
  return typeof collect === 'function' ? collectorOf(collect as NonNullable<typeof globalThis.gc>) : undefined;
}

function collectorOf(collect: NonNullable<typeof globalThis.gc>): CollectGarbage {
  // Without an argument: with one that asks for a full collection, V8 keeps objects that the stack may point to.
  return (which) => void (which === 'young' ? collect({ type: 'minor', execution: 'sync' }) : collect());
}
