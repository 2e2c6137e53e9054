import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { SqlType, typed } from '../../../src/index.js';
import { CellWriter } from '../../../src/library/engine/cell-writer.js';
import type { ParameterInput } from '../../../src/library/engine/parameters.js';
import { HttpSubmissionWriter } from '../../../src/library/http/http-submission.js';
import { PIPELINE, SubmissionWriter } from '../../../src/library/kv/kv-submission.js';

/** A value with the bytes that it has in a list: `native/clients/mysql/src/cells.rs` describes them. */
type Encoded = readonly [value: ParameterInput, bytes: Buffer];

function fixed(kind: number, length: number, write: (bytes: Buffer) => void): Buffer {
  const bytes = Buffer.alloc(length);
  write(bytes);
  return Buffer.concat([Buffer.from([kind]), bytes]);
}

function sized(kind: number, contents: string | Uint8Array): Buffer {
  const bytes = Buffer.from(contents as string);
  return Buffer.concat([fixed(kind, 4, (head) => head.writeUInt32LE(bytes.length)), bytes]);
}

const text = fc
  .oneof(fc.string({ maxLength: 80 }), fc.string({ unit: 'binary', maxLength: 80 }))
  .filter((value) => !/\p{Surrogate}/u.test(value));

/** Values of all kinds. */
const encoded: fc.Arbitrary<Encoded> = fc.oneof(
  fc.constant<Encoded>([null, Buffer.from([0])]),
  fc.boolean().map<Encoded>((value) => [value, Buffer.from([value ? 2 : 1])]),
  fc.maxSafeInteger().map<Encoded>((value) => [value, fixed(3, 8, (bytes) => bytes.writeBigInt64LE(BigInt(value)))]),
  fc
    .bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
    .map<Encoded>((value) => [value, fixed(3, 8, (bytes) => bytes.writeBigInt64LE(value))]),
  fc
    .double()
    .filter((value) => !Number.isInteger(value) || Object.is(value, -0))
    .map<Encoded>((value) => [value, fixed(4, 8, (bytes) => bytes.writeDoubleLE(value))]),
  fc
    .double({ noNaN: true })
    .map<Encoded>((value) => [typed(SqlType.double(), value), fixed(4, 8, (bytes) => bytes.writeDoubleLE(value))]),
  text.map<Encoded>((value) => [value, sized(5, value)]),
  fc.uint8Array({ maxLength: 80 }).map<Encoded>((value) => [value, sized(6, value)]),
  fc
    .integer({ min: -99_999, max: 99_999 })
    .map((value) => (value / 100).toFixed(2))
    .map<Encoded>((value) => [typed(SqlType.decimal(7, 2), value), sized(7, value)]),
  fc
    .integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })
    .map<Encoded>((days) => [typed(SqlType.date(), days), fixed(8, 4, (bytes) => bytes.writeInt32LE(days))]),
  fc
    .date({ noInvalidDate: true })
    .map<Encoded>((date) => [date, fixed(9, 8, (bytes) => bytes.writeBigInt64LE(BigInt(date.getTime()) * 1000n))]),
);

const firstBytes = fc.integer({ min: 1, max: 64 });

function written({ bytes, length }: { readonly bytes: Uint8Array; readonly length: number }): string {
  return Buffer.from(bytes.subarray(0, length)).toString('hex');
}

describe('a writer whose first buffer has a few bytes', () => {
  test('CellWriter keeps values of every kind at every place of the buffer', () => {
    fc.assert(
      fc.property(fc.array(encoded, { maxLength: 60 }), firstBytes, (list, first) => {
        const writer = new CellWriter(first);
        writer.word(7);
        writer.list(
          list.map(([value]) => value),
          list.length,
        );
        writer.setWord(0, 9);
        const expected = Buffer.concat([Buffer.from([9, 0, 0, 0]), ...list.map(([, bytes]) => bytes)]);
        expect(written(writer)).toBe(expected.toString('hex'));
      }),
      { numRuns: 500 },
    );
  });

  test('CellWriter keeps true, false and null in lists of every length', () => {
    for (const value of [true, false, null]) {
      const writer = new CellWriter(1);
      for (let length = 1; length <= 5000; length += 1) writer.list([value], 1);
      const byte = value === null ? 0 : value ? 2 : 1;
      expect(new Set(writer.bytes.subarray(0, writer.length))).toEqual(new Set([byte]));
    }
  });

  test('the writers of requests of Redis and HTTP write the same as with a large one', () => {
    const data = fc.oneof(text, fc.uint8Array({ maxLength: 80 }));
    fc.assert(
      fc.property(fc.array(data, { minLength: 1, maxLength: 20 }), text, firstBytes, (args, path, first) => {
        const bodies = args.map((body) => ({ method: 1, path, headers: `a: ${path}\r\n`, body }));
        const [small, large] = [first, 1 << 20].map((bytes) => {
          const kv = new SubmissionWriter(bytes);
          for (let id = 0; id < 3; id += 1) kv.add(5, id, PIPELINE, [1, args.length - 1], args);
          const http = new HttpSubmissionWriter(bytes);
          for (let id = 0; id < 3; id += 1) http.add(5, id, bodies);
          return [written(kv), written(http)];
        });
        expect(small).toEqual(large);
      }),
      { numRuns: 200 },
    );
  });
});
