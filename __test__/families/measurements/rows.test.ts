import { describe, expect, it } from 'vitest';

import {
  ColumnBatch,
  RowBatch,
  batchesOf,
  bigintRows,
  newColumns,
  splitRows,
} from '../../../src/families/measurements/rows.js';

describe('rows', () => {
  it('have the documented values, in every form', () => {
    const range = { start: 9, rows: 2 };
    expect(new RowBatch(4).make(range)).toEqual([
      [9, 9, 0.9, 1_700_000_009_000],
      [10, 0, 1, 1_700_000_010_000],
    ]);
    expect(bigintRows(range)).toEqual([
      [9, 9, 0.9, 1_700_000_009_000n],
      [10, 0, 1, 1_700_000_010_000n],
    ]);
    expect(new ColumnBatch(newColumns(4)).make(range)).toEqual({
      id: Int32Array.of(9, 10),
      sensor_id: Int32Array.of(9, 0),
      value: Float64Array.of(0.9, 1),
      timestamp: BigInt64Array.of(1_700_000_009_000n, 1_700_000_010_000n),
    });
  });

  it('reach to the last INT', () => {
    const { id, timestamp } = new ColumnBatch(newColumns(1)).make({ start: 2 ** 31 - 1, rows: 1 });
    expect(id[0]).toBe(2 ** 31 - 1);
    expect(timestamp[0]).toBe(1_700_000_000_000n + (2n ** 31n - 1n) * 1000n);
  });

  it('fill the same memory again', () => {
    const memory = new ColumnBatch(newColumns(3));
    const first = memory.make({ start: 0, rows: 3 });
    expect(memory.make({ start: 3, rows: 3 }).id.buffer).toBe(first.id.buffer);
    expect([...first.id]).toEqual([3, 4, 5]);
  });

  it('are split among workers without loss', () => {
    expect(splitRows(11, 3)).toEqual([
      { start: 0, rows: 3 },
      { start: 3, rows: 3 },
      { start: 6, rows: 5 },
    ]);
    expect([...batchesOf({ start: 3, rows: 5 }, 2)]).toEqual([
      { start: 3, rows: 2 },
      { start: 5, rows: 2 },
      { start: 7, rows: 1 },
    ]);
    expect([...batchesOf({ start: 0, rows: 0 })]).toEqual([]);
  });
});
