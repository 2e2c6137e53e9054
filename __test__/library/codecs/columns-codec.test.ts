import fc from 'fast-check';
import { Unpackr } from 'msgpackr';
import { expect, test } from 'vitest';

import {
  ColumnsDecoder,
  ColumnsEncoder,
  decodeColumns,
  encodeColumns,
  JsonPaths,
  JsonRows,
  LineEncoder,
  parseLines,
  RowsEncoder,
} from '../../../src/index.js';
import { dataViewColumns } from '../../../src/clients/data-view-columns.js';
import { msgpackr } from '../../../src/clients/msgpackr.js';
import { detached } from '../../detached.js';

const NAMES = { measurement: 'bench', tags: { host: 'a', rack: 'ü' }, field: 'v' };
const VALUES = Float64Array.of(0, 1, 0.5, -1.5e300);
const TIMES = BigInt64Array.of(1_700_000_000_000n, 0n, -1n, 2n ** 62n);

test('other implementations read what is encoded', () => {
  const bytes = encodeColumns(NAMES, VALUES, TIMES);
  const read = new Unpackr({ useRecords: false, int64AsType: 'bigint' }).unpack(bytes) as Record<string, unknown>;
  expect(read).toEqual({ ...NAMES, values: [...VALUES], timestamps: [...TIMES] });
  const byHand = dataViewColumns.decoder!()(encodeColumns({ ...NAMES, tags: { host: 'a' } }, VALUES, TIMES));
  expect(Array.from(byHand.values)).toEqual([...VALUES]);
  expect(Array.from(byHand.timestamps)).toEqual([...TIMES]);
});

test('the encodings of other implementations are read', () => {
  const batch = { values: VALUES, timestamps: TIMES };
  for (const codec of [msgpackr, dataViewColumns]) {
    const decoded = decodeColumns(codec.encoder!(NAMES, batch)());
    expect(decoded).toEqual({ ...NAMES, length: 4, values: VALUES, timestamps: TIMES });
  }
});

test('more timestamps than values, and a second batch, are refused also by a decoder that has no memory yet', () => {
  const text = (text: string) => [0xa0 | text.length, ...Buffer.from(text)];
  const names = [...text('measurement'), ...text('m'), ...text('field'), ...text('v')];
  const decoder = new ColumnsDecoder();
  decoder.decode(encodeColumns(NAMES, Float64Array.of(1)));
  for (const counts of [
    [1, 2],
    [2, 1],
    [100, 101],
  ] as const) {
    const [values, times] = counts.map((count) => [0xdc, 0, count, ...Array<number>(count).fill(7)]);
    const [first, second] = [
      [...text('values'), ...values!],
      [...text('timestamps'), ...times!],
    ];
    for (const parts of [
      [...first, ...second],
      [...second, ...first],
    ]) {
      const bytes = Uint8Array.of(0x84, ...names, ...parts);
      for (const decode of [decodeColumns, (bytes: Uint8Array) => decoder.decode(bytes)]) {
        expect(() => decode(bytes)).toThrow(`there are ${counts[0]} values and ${counts[1]} timestamps`);
      }
    }
  }
  const one = encodeColumns(NAMES, VALUES, TIMES);
  expect(() => decodeColumns(Buffer.concat([one, one]))).toThrow(`there are ${one.length} more bytes behind the value`);
});

test('columns read back', () => {
  const decoder = new ColumnsDecoder();
  const text = fc.string({ minLength: 1, maxLength: 300, unit: 'grapheme' });
  const points = fc.array(fc.tuple(fc.double(), fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })), {
    maxLength: 300,
  });
  const names = fc.record({
    measurement: text,
    // A property of this name sets the prototype of a literal.
    tags: fc.dictionary(
      text.filter((name) => name !== '__proto__'),
      text,
      { maxKeys: 20 },
    ),
    field: text,
  });
  fc.assert(
    fc.property(names, points, fc.boolean(), (names, points, hasTimes) => {
      const values = Float64Array.from(points, ([value]) => value);
      const timestamps = BigInt64Array.from(points, ([, time]) => time);
      const bytes = new ColumnsEncoder(names).encode(values, hasTimes ? timestamps : undefined);
      const { tags, ...decoded } = decoder.decode(bytes);
      expect(Object.entries(tags).toSorted()).toEqual(Object.entries(names.tags).toSorted());
      expect(decoded).toEqual({
        measurement: names.measurement,
        field: names.field,
        length: points.length,
        values,
        ...(hasTimes ? { timestamps } : {}),
      });
    }),
  );
});

test('a decoder keeps the names of a series apart from the names of the next', () => {
  const decoder = new ColumnsDecoder();
  const first = new ColumnsEncoder(NAMES).encode(VALUES, TIMES);
  const second = new ColumnsEncoder({ measurement: 'other', field: 'w' }).encode(VALUES);
  expect(decoder.decode(first).measurement).toBe('bench');
  expect(decoder.decode(first).measurement).toBe('bench');
  expect(decoder.decode(second)).toEqual({ measurement: 'other', tags: {}, field: 'w', length: 4, values: VALUES });
  expect(decoder.decode(first).timestamps).toEqual(TIMES);
});

test('values that cannot be encoded are refused with the reason', () => {
  const encoder = new ColumnsEncoder(NAMES);
  const failing = (work: () => unknown): unknown => {
    try {
      return work();
    } catch (error) {
      return (error as { code: string }).code;
    }
  };
  const into = new Uint8Array(encoder.mostBytes(4));
  expect(encoder.encodeInto(into, VALUES, TIMES)).toBeLessThanOrEqual(into.length);
  const shared = new Float64Array(new SharedArrayBuffer(32));
  for (const wrong of [
    () => encoder.encodeInto(into.subarray(1), VALUES, TIMES),
    () => encoder.encodeInto(into, VALUES, TIMES.subarray(1)),
    () => encoder.encodeInto(new Uint8Array(VALUES.buffer), VALUES.subarray(0, 0)),
    () => encoder.encodeInto(new Uint8Array(new ArrayBuffer(8 + 200)), Float64Array.of(1), TIMES),
    () => encoder.encodeInto(into, shared),
    () => encoder.encodeInto(into, [1] as unknown as Float64Array),
    () => encoder.encodeInto(into, VALUES, VALUES as unknown as BigInt64Array),
    () => new ColumnsEncoder({ measurement: '', field: 'v' }),
    () => decodeColumns(Uint8Array.of(0x91)),
    () => decodeColumns(new Uint8Array(0)),
  ]) {
    expect(failing(wrong), String(wrong)).toBe('BB_INVALID_ARGUMENT');
  }
  const memory = new ArrayBuffer(1000);
  expect(failing(() => encoder.encodeInto(new Uint8Array(memory), new Float64Array(memory, 992, 1)))).toBe(
    'BB_INVALID_ARGUMENT',
  );
  expect(() => decodeColumns(encodeColumns(NAMES, VALUES).subarray(0, -1))).toThrow(/the bytes end/);
});

test('memory that is gone is refused, and is no empty batch', () => {
  const floats = () => Float64Array.of(1, 2);
  type Resizable = ArrayBuffer & { resize(length: number): void };
  const Resizable = ArrayBuffer as unknown as new (length: number, options: { maxByteLength: number }) => Resizable;
  const memory = new Resizable(16, { maxByteLength: 16 });
  const beyond = new Float64Array(memory, 0, 2);
  memory.resize(8);
  const text = () => Uint8Array.from(Buffer.from('m v=1'));
  const into = new Uint8Array(200);
  for (const values of [detached(floats()), beyond]) {
    for (const Encoder of [ColumnsEncoder, RowsEncoder, LineEncoder]) {
      expect(() => new Encoder(NAMES).encode(values)).toThrow('the memory of the Float64Array is detached');
      expect(() => new Encoder(NAMES).encodeInto(into, values)).toThrow('the memory of the Float64Array is detached');
    }
  }
  for (const Encoder of [RowsEncoder, LineEncoder]) {
    expect(() => new Encoder(NAMES).encodeInto(detached(new Uint8Array(200)), floats())).toThrow('is detached');
  }
  expect(() => parseLines(detached(text()))).toThrow('the memory of the Uint8Array is detached');
  expect(() => new JsonRows('data', 'a').feed(detached(text()))).toThrow('the memory of the Uint8Array is detached');
  expect(() => new JsonPaths('a').pick(detached(text()))).toThrow('the memory of the Uint8Array is detached');
  expect(decodeColumns(encodeColumns(NAMES, new Float64Array(0))).length).toBe(0);
});
