import fc from 'fast-check';
import { Unpackr } from 'msgpackr';
import { expect, test } from 'vitest';

import { encodeRows, RowsEncoder } from '../../../src/index.js';
import { packRows } from '../../../src/clients/msgpackr.js';

const NAMES = { measurement: 'bench', tags: { host: 'a', rack: 'ü' }, field: 'v' };

const unpackr = new Unpackr({ useRecords: false, int64AsType: 'bigint' });

test('other implementations read what is encoded, and write the same rows', () => {
  const point = fc.tuple(fc.double({ noNaN: true }), fc.bigInt({ min: 2n ** 53n, max: 2n ** 63n - 1n }));
  fc.assert(
    fc.property(fc.array(point, { maxLength: 40 }), fc.boolean(), (points, hasTimes) => {
      const values = Float64Array.from(points, ([value]) => value);
      const timestamps = BigInt64Array.from(points, ([, time]) => time);
      const rows = unpackr.unpack(encodeRows(NAMES, values, hasTimes ? timestamps : undefined)) as unknown;
      const row = ([value, timestamp]: readonly [number, bigint]): object => ({
        measurement: 'bench',
        tags: NAMES.tags,
        fields: { v: { Float: value } },
        ...(hasTimes ? { timestamp } : {}),
      });
      expect(rows).toEqual(points.map(row));
      const packed = unpackr.unpack(packRows(NAMES, { values, timestamps })) as unknown;
      expect(packed).toEqual(hasTimes ? rows : points.map((point) => ({ ...row(point), timestamp: point[1] })));
    }),
  );
});

test('memory that is too small gets the needed size as the answer, and nonsense is refused', () => {
  const encoder = new RowsEncoder(NAMES);
  const values = Float64Array.of(1, 2);
  const needed = -encoder.encodeInto(new Uint8Array(1), values);
  const length = encoder.encodeInto(new Uint8Array(needed), values);
  expect(length).toBeLessThanOrEqual(needed);
  expect(encoder.encode(values)).toHaveLength(length);
  expect(() => encoder.encode(values, BigInt64Array.of(1n))).toThrow('2 values and 1 timestamps');
  expect(() => new RowsEncoder({ ...NAMES, field: '' })).toThrow('must not be empty');
});
