import { describe, expect, it } from 'vitest';

import type { OpenFamily } from '../../src/families/workload.js';
import { nodeResources } from '../../src/runner/resources.js';
import { openSampler } from '../../src/runner/sampler.js';
import { plannedCell } from './planned-cell.js';

const PLANNED = plannedCell('l', { side: 'rust', workers: 1 });

const CHECKSUM = { rows: 1, sums: {} };

/** A family whose cell takes that long, by a clock of its own, and the log of its steps. */
function timed(seconds: number): { readonly family: OpenFamily; readonly log: string[] } {
  const log: string[] = [];
  const cell = {
    expected: CHECKSUM,
    sample: async (stopwatch: { add(timing: { seconds: number }): void }) => {
      log.push('execution');
      stopwatch.add({ seconds });
      return CHECKSUM;
    },
    verify: async () => void log.push('verify'),
    close: async () => void log.push('close'),
  };
  return { family: { openCell: async () => cell } as unknown as OpenFamily, log };
}

describe('a cell that is warm', () => {
  it.each([
    ['executes a short one before each sample as well', 0.1, 2],
    ['executes it as often as a sample needs, and as often before', 0.01, 4],
    ['executes a long one for the sample alone', 0.3, 1],
  ])('%s', async (_, seconds, executions) => {
    const { family, log } = timed(seconds);
    const sampler = await openSampler(
      family,
      PLANNED,
      { samples: 2, budgetSeconds: 0.01 },
      {
        resources: nodeResources,
        garbage: undefined,
        signal: new AbortController().signal,
        onStep: () => {},
      },
    );
    for (let sample = 0; sample < 3; sample++) {
      log.length = 0;
      expect((await sampler.take()).seconds).toBeCloseTo(seconds);
      expect(log).toEqual(Array(executions).fill('execution'));
    }
    log.length = 0;
    expect(await sampler.result(true)).toEqual(CHECKSUM);
    await sampler.close();
    expect(log).toEqual(['verify', 'close']);
  });
});
