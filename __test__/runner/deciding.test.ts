import { describe, expect, it } from 'vitest';

import type { PlannedCell } from '../../src/families/workload.js';
import type { ForkRecord } from '../../src/records/run-log.js';
import { type Deciding, Entry, finishedOf, nextEntries, processesLeft } from '../../src/runner/deciding.js';

const deciding: Deciding = {
  slowForks: 3,
  mayGoOn: () => true,
  comparing: { rustLaneOf: () => 'rows', margin: 0.05, risk: 0.0182 },
};

function plannedOf(id: string, side: 'rust' | 'napi', workload = 'w'): PlannedCell {
  return {
    cell: { id, family: 'f', workload, lane: 'rows', side, variant: id, engine: 'e', rows: 10 },
    group: workload,
  };
}

/** The entry of a cell whose processes took so many seconds, each in the block of its number. */
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
    expect(idsOf(finishedOf(all, deciding))).toEqual(['slow']);
    decided.isOver = true;
    expect(all.map((entry) => processesLeft(entry, deciding))).toEqual([2, 0, 2]);
    expect(idsOf(nextEntries(all, deciding))).toEqual(['rust', 'open']);
  });

  it('does not look before all cells of a group have their processes', () => {
    const entries = [entryOf(plannedOf('rust', 'rust'), [1, 1, 1]), entryOf(plannedOf('napi', 'napi'), [1, 1])];
    expect(finishedOf(entries, deciding)).toEqual([]);
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
      ].map((entry) => Object.assign(entry, { look: seconds.length }));
    expect(finishedOf(pair(noise.slice(0, 8), 1), deciding)).toEqual([]);
    expect(finishedOf(pair(noise, 1), deciding)).toHaveLength(2);
    expect(finishedOf(pair(noise.slice(0, 5), 3), deciding)).toHaveLength(2);
  });

  it('ends all cells once its time is over', () => {
    const entries = [entryOf(plannedOf('rust', 'rust'), [1, 1, 1]), entryOf(plannedOf('napi', 'napi'), [1, 1.4, 0.8])];
    expect(finishedOf(entries, { ...deciding, mayGoOn: () => false })).toHaveLength(2);
  });

  it('does not measure a cell further that decides nothing', () => {
    const entries = [
      entryOf(plannedOf('rust', 'rust'), [1, 1, 1]),
      entryOf(plannedOf('napi', 'napi'), [1, 1.4, 0.8], { noVerdict: 'too-short' }),
    ];
    expect(finishedOf(entries, deciding)).toHaveLength(2);
  });
});

describe('a run with a number of processes', () => {
  it('ends each cell that has them, decided or not', () => {
    const fixed = { ...deciding, forks: 2 };
    const entries = [entryOf(plannedOf('rust', 'rust'), [1, 1.4]), entryOf(plannedOf('napi', 'napi'), [1])];
    expect(idsOf(finishedOf(entries, fixed))).toEqual(['rust']);
    expect(idsOf(nextEntries(entries, fixed))).toEqual(['napi']);
  });
});
