import { describe, expect, it } from 'vitest';

import type { PlannedCell } from '../../src/families/workload.js';
import type { ForkRecord } from '../../src/records/run-log.js';
import {
  type Deciding,
  Entry,
  closestOf,
  finishedOf,
  losersOf,
  nextEntries,
  processesLeft,
} from '../../src/runner/deciding.js';
import { plannedCell } from './planned-cell.js';

const deciding: Deciding = {
  slowForks: 3,
  mayGoOn: () => true,
  comparing: { rustLaneOf: () => 'rows', margin: 0.05, risk: 0.0221 },
};

function plannedOf(id: string, side: 'rust' | 'napi', workload = 'w'): PlannedCell {
  return plannedCell(id, { workload, lane: 'rows', side, rows: 10 }, { group: workload });
}

/** The entry of a cell whose processes took the given seconds, each in the block of its number. */
function entryOf(planned: PlannedCell, seconds: readonly number[], rest: Partial<ForkRecord> = {}): Entry {
  const forks = seconds.map((value, index) => ({
    id: planned.cell.id,
    samples: [{ fork: index + 1, block: index + 1, seconds: value }],
    checksum: { rows: 10, sums: {} },
    ...rest,
  }));
  return new Entry(planned, forks);
}

const idsOf = (entries: readonly Entry[]): string[] => entries.map(({ planned }) => planned.cell.id);

describe('a run without a number of processes', () => {
  it('ends cells whose comparisons are decided, and measures the others up to the next look', () => {
    const reference = entryOf(plannedOf('rust', 'rust'), [1, 1.3, 0.9]);
    const decided = entryOf(plannedOf('slow', 'napi'), [2, 2.62, 1.81]);
    const open = entryOf(plannedOf('open', 'napi'), [1.2, 1.2, 1.2]);
    const all = [reference, decided, open];
    expect(nextEntries(all, deciding)).toEqual([]);
    expect(idsOf(finishedOf(all, deciding, 'best'))).toEqual(['slow']);
    decided.isOver = true;
    expect(all.map((entry) => processesLeft(entry, deciding))).toEqual([3, 0, 3]);
    expect(idsOf(nextEntries(all, deciding))).toEqual(['rust', 'open']);
  });

  it('does not look before all cells of a group have their processes', () => {
    const entries = [entryOf(plannedOf('rust', 'rust'), [1, 1, 1]), entryOf(plannedOf('napi', 'napi'), [1, 1])];
    expect(finishedOf(entries, deciding, 'best')).toEqual([]);
    expect(idsOf(nextEntries(entries, deciding))).toEqual(['napi']);
  });

  it('ends after the last look, and for slow cells after the second', () => {
    const noise = Array.from({ length: 12 }, (_, index) => 1 + (index % 3) / 4);
    const pair = (seconds: readonly number[], scale: number): Entry[] =>
      [
        entryOf(
          plannedOf('rust', 'rust'),
          Array.from(seconds, () => scale),
        ),
        entryOf(
          plannedOf('napi', 'napi'),
          seconds.map((value) => value * scale),
        ),
      ].map((entry) =>
        Object.assign(entry, {
          target: seconds.length,
          looks: { best: seconds.length, rival: 3, lane: seconds.length },
        }),
      );
    expect(finishedOf(pair(noise.slice(0, 6), 1), deciding, 'best')).toEqual([]);
    expect(finishedOf(pair(noise, 1), deciding, 'best')).toHaveLength(2);
    expect(finishedOf(pair(noise.slice(0, 6), 3), deciding, 'best')).toHaveLength(2);
  });

  it('decides the best of both sides first, by the two cells alone, and then the lanes', () => {
    // Lanes of two: the slow one of each side can't be the best.
    const lane = (id: string, side: 'rust' | 'napi', seconds: readonly number[]): Entry => {
      const planned = plannedOf(id, side);
      return entryOf({ ...planned, cell: { ...planned.cell, lane: id.split('-')[0]! } }, seconds);
    };
    const rustLaneOf = (id: string): string => id.split('-')[0]!;
    const policy = { ...deciding, comparing: { ...deciding.comparing, rustLaneOf } };
    const fast = [lane('fast-rust', 'rust', [1, 1, 1]), lane('fast-napi', 'napi', [0.9, 1.2, 1])];
    const close = lane('close-rust', 'rust', [1.1, 1.1, 1.1]);
    const slow = [lane('slow-rust', 'rust', [5, 5, 5]), lane('slow-napi', 'napi', [4.5, 6, 5])];
    const all = [...fast, close, ...slow];
    expect(finishedOf(all, policy, 'best')).toEqual([close]);
    close.isOver = true;
    expect(all.map((entry) => processesLeft(entry, policy))).toEqual([3, 3, 0, 0, 0]);
    // Later the best are decided, while their lanes get as many processes as the others.
    for (const [index, seconds] of [2, 2, 2].entries()) {
      for (const entry of fast) {
        const isNode = entry === fast[1];
        const samples = [{ fork: 4 + index, block: 4 + index, seconds: isNode ? 1 : seconds / 2 }];
        entry.forks.push({ id: entry.planned.cell.id, samples, checksum: { rows: 10, sums: {} } });
      }
    }
    expect(finishedOf(all, { ...policy, mayGoOn: () => true }, 'lane')).toEqual([]);
    expect(all.map((entry) => processesLeft(entry, policy))).toEqual([3, 3, 0, 3, 3]);
  });

  it('ends all cells once its time is over', () => {
    const entries = [entryOf(plannedOf('rust', 'rust'), [1, 1, 1]), entryOf(plannedOf('napi', 'napi'), [1, 1.4, 0.8])];
    expect(finishedOf(entries, { ...deciding, mayGoOn: () => false }, 'best')).toHaveLength(2);
  });

  it('does not measure a cell further if it has no verdict', () => {
    const entries = [
      entryOf(plannedOf('rust', 'rust'), [1, 1, 1]),
      entryOf(plannedOf('napi', 'napi'), [1, 1.4, 0.8], { noVerdict: 'too-short' }),
    ];
    expect(finishedOf(entries, deciding, 'best')).toHaveLength(2);
  });
});

describe('a run with a number of processes', () => {
  it('ends each cell that has them, decided or not', () => {
    const fixed = { ...deciding, forks: 2 };
    const entries = [entryOf(plannedOf('rust', 'rust'), [1, 1.4]), entryOf(plannedOf('napi', 'napi'), [1])];
    expect(idsOf(finishedOf(entries, fixed, 'best'))).toEqual(['rust']);
    expect(idsOf(nextEntries(entries, fixed))).toEqual(['napi']);
  });
});

describe('the flavors of a lane of Rust', () => {
  const flavor = (name: 'sync' | 'async', lane = 'rows'): PlannedCell => {
    const planned = plannedOf(`${lane}/${name}`, 'rust');
    return { ...planned, cell: { ...planned.cell, lane, flavor: name, variant: lane } };
  };
  const entry = (planned: PlannedCell, seconds: readonly number[]): Entry =>
    new Entry(planned, [
      {
        id: planned.cell.id,
        samples: seconds.map((value, index) => ({ fork: 1, block: index + 1, seconds: value })),
        checksum: { rows: 10, sums: {} },
      },
    ]);

  it('get no other process if their first one was slower than another first one in most blocks', () => {
    const entries = [entry(flavor('sync'), [1.2, 0.9, 1.01]), entry(flavor('async'), [1, 1, 1])];
    expect(idsOf(losersOf(entries, deciding))).toEqual(['rows/sync']);
    expect(losersOf(entries, { forks: 5 })).toEqual([]);
  });

  it.each([
    ['equal', [entry(flavor('sync'), [1, 1]), entry(flavor('async'), [1, 1])]],
    ['measured once', [entry(flavor('sync'), [2]), entry(flavor('async'), [1])]],
    ['of two lanes', [entry(flavor('sync'), [2, 2]), entry(flavor('sync', 'columns'), [1, 1])]],
    ['measured further', [entryOf(flavor('sync'), [2, 2]), entryOf(flavor('async'), [1, 1])]],
  ])('go on if they are %s', (_, entries) => {
    expect(losersOf(entries, deciding)).toEqual([]);
  });
});

describe('the cells that decide which side is the faster one', () => {
  const cell = (id: string, side: 'rust' | 'napi', seconds: number): Entry => entryOf(plannedOf(id, side), [seconds]);

  it('are the fastest two of each side, if the second is close to the first', () => {
    const all = [
      cell('a', 'rust', 1),
      cell('b', 'rust', 1.1),
      cell('c', 'rust', 1.12),
      cell('d', 'napi', 1.3),
      cell('e', 'napi', 2),
    ];
    expect(idsOf([...closestOf(all)])).toEqual(['a', 'b', 'd']);
  });

  it('are not close if one side is much faster, or alone', () => {
    expect([...closestOf([cell('a', 'rust', 1), cell('b', 'napi', 1.6)])]).toEqual([]);
    expect([...closestOf([cell('a', 'rust', 1.6), cell('b', 'napi', 1)])]).toEqual([]);
    expect([...closestOf([cell('a', 'napi', 1), cell('b', 'napi', 1)])]).toEqual([]);
  });
});
