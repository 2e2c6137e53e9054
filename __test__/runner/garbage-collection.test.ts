import { describe, expect, it } from 'vitest';
import { exposeCollector } from '../../src/collect-garbage.js';
import { GarbageBetween } from '../../src/runner/garbage-collection.js';

const MIB = 1 << 20;

describe('GarbageBetween', () => {
  it('collects all garbage only if there may be much since the last time', async () => {
    const collections: string[] = [];
    let used = 100 * MIB;
    const garbage = new GarbageBetween(
      (which) => {
        collections.push(which);
        if (which === 'all') used = 60 * MIB;
      },
      () => used,
    );
    expect(await garbage.clear()).toBe(true);
    used += 31 * MIB;
    expect(await garbage.clear()).toBe(false);
    used += MIB;
    expect(await garbage.clear()).toBe(true);
    expect(await garbage.clear()).toBe(false);
    expect(collections).toEqual(['young', 'all', 'young', 'young', 'young', 'all', 'young', 'young']);
  });

  it('frees the memory of buffers that are gone', async () => {
    const garbage = new GarbageBetween(exposeCollector()!);
    await garbage.clear();
    const before = process.memoryUsage().external;
    expect(externalWithBuffers() - before).toBeGreaterThan(100 * MIB);
    expect(await garbage.clear()).toBe(true);
    expect(process.memoryUsage().external - before).toBeLessThan(32 * MIB);
  });
});

function externalWithBuffers(): number {
  const buffers = Array.from({ length: 8 }, () => new ArrayBuffer(16 * MIB));
  return buffers.length && process.memoryUsage().external;
}
