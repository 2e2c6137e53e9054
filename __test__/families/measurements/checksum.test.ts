import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  ColumnSums,
  MeasurementSums,
  mergeChecksums,
  sumFloat64,
  sumInt32,
  sumInt64,
} from '../../../src/families/measurements/checksum.js';

describe('sums of columns', () => {
  it('of 64-bit integers are exact', () => {
    fc.assert(
      fc.property(fc.bigInt64Array(), (values) => {
        expect(sumInt64(values)).toBe(values.reduce((sum, value) => sum + value, 0n));
      }),
    );
    expect(sumInt64(new BigInt64Array(70_001).fill(-(2n ** 63n)))).toBe(-70_001n * 2n ** 63n);
  });

  it('of a view into larger memory take only the view', () => {
    expect(sumInt64(BigInt64Array.of(1n, 2n, 4n, 8n).subarray(1, 3))).toBe(6n);
    expect(sumInt32(Int32Array.of(1, 2, 4, 8).subarray(1, 3))).toBe(6);
  });

  it('of 32-bit integers are exact, of floats nearly', () => {
    fc.assert(
      fc.property(fc.int32Array(), (values) => {
        expect(sumInt32(values)).toBe(values.reduce((sum, value) => sum + value, 0));
      }),
    );
    expect(sumFloat64(Float64Array.of(0.5, 0.25, 1, 2, 4, 8, 16))).toBe(31.75);
  });
});

describe('checksums', () => {
  it('carry sums beyond 2^53', () => {
    const sums = new MeasurementSums();
    for (let block = 0; block < 4096; block += 1) sums.add(1, 2 ** 42 + 1, 3, 0.5, 2n ** 62n);
    expect(sums.checksum).toEqual({
      rows: 4096,
      sums: { id: `${4096n * (2n ** 42n + 1n)}`, sensor_id: '12288', value: 2048, timestamp: `${2n ** 74n}` },
    });
  });

  it('of columns keep the kinds of sums, also without rows', () => {
    const sums = new ColumnSums(['id', 'value']);
    expect(sums.checksum).toEqual({ rows: 0, sums: { id: '0', value: 0 } });
    sums.addRows(2);
    sums.addColumn(0, Int32Array.of(1, 2));
    sums.addColumn(1, Float64Array.of(1, 2));
    expect(sums.checksum).toEqual({ rows: 2, sums: { id: '3', value: 3 } });
  });

  it('add up by column', () => {
    const parts = [
      { rows: 1, sums: { id: '9007199254740993', value: 0.5 } },
      { rows: 2, sums: { id: '1', value: 1 } },
    ];
    expect(mergeChecksums(parts, ['id', 'value'])).toEqual({ rows: 3, sums: { id: '9007199254740994', value: 1.5 } });
  });
});
