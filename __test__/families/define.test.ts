import { describe, expect, it } from 'vitest';

import { type LaneDefinition, type WorkloadDefinition, defineWorkload } from '../../src/families/define.js';
import { stopwatch } from './sampled-cells.js';

interface SumLane extends LaneDefinition {
  readonly sum: (values: readonly number[]) => number;
}

const loop: SumLane = {
  lane: 'loop',
  side: 'js',
  engine: 'arrays',
  variant: 'for',
  sum: (values) => {
    let sum = 0;
    for (const value of values) sum += value;
    return sum;
  },
};

const reduce: SumLane = {
  lane: 'reduce',
  side: 'js',
  engine: 'arrays',
  variant: 'reduce',
  flavor: 'sync',
  rustLane: 'loop',
  maxRows: 10,
  sum: (values) => values.reduce((a, b) => a + b, 0),
};

const closed: string[] = [];

function definition(lanes: readonly SumLane[]): WorkloadDefinition<SumLane> {
  return {
    family: 'sums',
    name: 'sum.numbers',
    rows: 100,
    bytesPerRow: 8,
    lanes,
    open: async (lane, { rows }) => {
      const values = Array.from({ length: rows }, (_, index) => index);
      return {
        expected: { rows, sums: { value: `${(rows * (rows - 1)) / 2}` } },
        sample: async (stopwatch) => {
          stopwatch.start();
          const sum = lane.sum(values);
          stopwatch.stop();
          return { rows, sums: { value: `${sum}` } };
        },
        ...(lane === loop ? {} : { close: async () => void closed.push(lane.lane) }),
      };
    },
  };
}

describe('defineWorkload', () => {
  it('plans a cell for each lane', () => {
    const family = defineWorkload(definition([loop, reduce]));
    expect(family.name).toBe('sums');
    expect(family.defaultRows).toBe(100);
    expect([family.module, defineWorkload({ ...definition([loop]), module: 'file:///sums.mjs' }).module]).toEqual([
      undefined,
      'file:///sums.mjs',
    ]);
    const planned = family.plan({ rows: 50, workers: 1, engines: {} });
    expect(planned.map(({ cell }) => [cell.id, cell.rows, cell.bytes])).toEqual([
      ['sums/sum.numbers/loop/js/arrays', 50, 400],
      ['sums/sum.numbers/reduce/js/arrays/sync', 10, 80],
    ]);
    expect(planned.map(({ rustLane }) => rustLane)).toEqual([undefined, 'loop']);
    expect(new Set(planned.map(({ group }) => group)).size).toBe(1);
  });

  it('opens each lane as it was given, with its own number of rows', async () => {
    const family = defineWorkload(definition([loop, reduce]));
    const options = { rows: 50, workers: 1, engines: {} };
    const open = await family.open(options, []);
    for (const planned of family.plan(options)) {
      const cell = await open.openCell(planned);
      expect(await cell.sample(stopwatch, new AbortController().signal)).toEqual(cell.expected);
      expect(cell.expected.rows).toBe(planned.cell.rows);
      await cell.close();
    }
    await open.close();
    expect(closed).toEqual(['reduce']);
  });

  it('lets a lane check each of its rows after the samples', async () => {
    const of = definition([loop]);
    const wrong = new Error('the second row is wrong');
    const verify = async (): Promise<void> => {
      throw wrong;
    };
    const checked = defineWorkload({ ...of, open: async (...lane) => ({ ...(await of.open(...lane)), verify }) });
    const options = { rows: 2, workers: 1, engines: {} };
    const verified = async (family: typeof checked): Promise<void> => {
      const open = await family.open(options, []);
      const cell = await open.openCell(family.plan(options)[0]!);
      await cell.verify?.(stopwatch, new AbortController().signal);
    };
    await expect(verified(checked)).rejects.toBe(wrong);
    await verified(defineWorkload(of));
  });

  it.each([
    ['no lanes', definition([])],
    ['two equal lanes', definition([loop, { ...loop, variant: 'another' }])],
    ['no rows', { ...definition([loop]), rows: 0 }],
    ['a misspelt name', { ...definition([loop]), bytePerRow: 8 }],
    ['half a row', definition([{ ...loop, maxRows: 0.5 }])],
  ])('refuses %s', (_, wrong) => {
    expect(() => defineWorkload(wrong)).toThrow(expect.objectContaining({ code: 'BB_INVALID_ARGUMENT' }));
  });
});
