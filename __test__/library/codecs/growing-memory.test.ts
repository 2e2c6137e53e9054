/** Encoders and parsers begin with little memory: values of any kind and length meet its end. */
import fc from 'fast-check';
import { expect, test } from 'vitest';

import {
  ColumnsDecoder,
  encodeColumns,
  encodeLines,
  encodeRows,
  LineEncoder,
  LineParser,
  parseLines,
  RowsEncoder,
} from '../../../src/index.js';
import { dataViewColumns } from '../../../src/clients/data-view-columns.js';
import { lineProtocol } from '../../../src/clients/line-protocol.js';

const value = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer().map((number) => number / 1000),
);
const time = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const points = fc.array(fc.tuple(value, time), { maxLength: 70 });
const names = fc.record({
  measurement: fc.string({ unit: fc.constantFrom('m', 'ü', ','), minLength: 1, maxLength: 90 }),
  field: fc.string({ unit: fc.constantFrom('v', '=', ' '), minLength: 1, maxLength: 90 }),
});

function columnsOf(points: readonly (readonly [number, bigint])[]): [Float64Array, BigInt64Array] {
  return [Float64Array.from(points, ([value]) => value), BigInt64Array.from(points, ([, time]) => time)];
}

test('an encoder that is used again writes what a new one writes', () => {
  const batches = fc.array(points, { maxLength: 8 });
  fc.assert(
    fc.property(names, batches, (names, batches) => {
      const lines = new LineEncoder(names);
      const rows = new RowsEncoder(names);
      const byHand = { values: new Float64Array(0), timestamps: new BigInt64Array(0) };
      const [linesByHand, columnsByHand] = [lineProtocol, dataViewColumns].map((codec) =>
        codec.encoder!({ measurement: 'm', field: 'v' }, byHand),
      );
      for (const batch of batches) {
        const [values, timestamps] = columnsOf(batch);
        const text = Buffer.from(lines.encode(values, timestamps)).toString();
        expect(text).toBe(Buffer.from(encodeLines(names, values, timestamps)).toString());
        expect(text.split('\n')).toHaveLength(batch.length + 1);
        const parsed = parseLines(text);
        expect([...parsed.timestamps]).toEqual([...timestamps]);
        expect([...parsed.rawValues]).toEqual([...values].map((value) => (value === 0 ? 0 : value)));
        expect(rows.encode(values, timestamps)).toEqual(encodeRows(names, values, timestamps));
        Object.assign(byHand, { values, timestamps });
        const ours = { measurement: 'm', field: 'v' };
        const expected = Buffer.from(encodeLines(ours, values, timestamps)).toString();
        expect(Buffer.from(linesByHand!()).toString().replaceAll('v=-0 ', 'v=0 ')).toBe(expected);
        const { length, values: read } = new ColumnsDecoder().decode(columnsByHand!());
        expect([length, [...read]]).toEqual([batch.length, [...values]]);
      }
    }),
  );
});

test('a decoder that is used again reads what a new one reads', () => {
  const decoder = new ColumnsDecoder();
  fc.assert(
    fc.property(names, points, fc.boolean(), fc.boolean(), (names, points, hasTimes, detaches) => {
      const [values, timestamps] = columnsOf(points);
      const decoded = decoder.decode(encodeColumns(names, values, hasTimes ? timestamps : undefined));
      expect([...decoded.values]).toEqual([...values]);
      expect(decoded.timestamps && [...decoded.timestamps]).toEqual(hasTimes ? [...timestamps] : undefined);
      // The memory that a decoder reuses may be gone.
      if (detaches) structuredClone(undefined, { transfer: [decoded.values.buffer as ArrayBuffer] });
    }),
  );
});

test('a parser that is used again reads what a new one reads', () => {
  const field = fc.oneof(
    value.map((value) => `${value}`),
    time.map((value) => `${value}i`),
    fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map((value) => `${value}u`),
    fc.boolean().map((value) => `${value}`),
    fc.string({ unit: fc.constantFrom('a', 'ü', '😀', '\n', '\r'), maxLength: 40 }).map((text) => `"${text}"`),
  );
  const line = fc
    .tuple(fc.constantFrom('m', 'm,a=1,b=2', 'm,b=2,a=1', 'n'), fc.array(field, { minLength: 1, maxLength: 9 }), time)
    .map(([key, fields, time]) => `${key} ${fields.map((field, index) => `f${index}=${field}`).join(',')} ${time}`);
  const parser = new LineParser();
  fc.assert(
    fc.property(fc.array(line, { maxLength: 30 }), fc.constantFrom('\n', '\r\n'), (lines, end) => {
      const body = lines.map((line) => line + end).join('');
      const [again, fresh] = [parser.parse(body), parseLines(body)];
      expect(again.length).toBe(lines.length);
      expect([again.series, again.tables]).toEqual([fresh.series, fresh.tables]);
    }),
  );
});
