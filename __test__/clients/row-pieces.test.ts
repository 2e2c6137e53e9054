import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { JsonRows } from '../../src/index.js';
import { RowPieces } from '../../src/clients/row-pieces.js';

/** A text in pieces. */
function cut(text: string, sizes: readonly number[]): Buffer[] {
  let rest = Buffer.from(text);
  const pieces = sizes.map((size) => {
    const piece = rest.subarray(0, size);
    rest = rest.subarray(size);
    return piece;
  });
  return [...pieces, rest];
}

const read = (pieces: readonly Buffer[]): unknown[] => {
  const rows = new RowPieces('data');
  return [...pieces.flatMap((piece) => rows.feed(piece)), ...rows.finish()];
};

const readNative = (pieces: readonly Buffer[]): unknown[] => {
  const rows = new JsonRows('data', { path: 'n', type: 'number' }, 't');
  const found = pieces.flatMap((piece) => {
    const [numbers, texts] = rows.feed(piece);
    return [...texts!].map((t, index) => ({ n: numbers!.numbers[index], t }));
  });
  rows.finish();
  return found;
};

describe('rows that come in pieces', () => {
  it('are the same however they are cut, to JSON.parse and to the addon', () => {
    const text = fc.string({ unit: 'grapheme' }).filter((value) => !value.includes('{'));
    const rows = fc.array(fc.record({ n: fc.integer(), t: text }));
    const sizes = fc.array(fc.integer({ min: 1, max: 50 }));
    fc.assert(
      fc.property(rows, sizes, (expected, at) => {
        const json = `{"code":200,"operationId":"x","data":[\n${expected.map((row) => JSON.stringify(row)).join(',\n')}\n]}`;
        expect(read(cut(json, at))).toEqual(expected);
        expect(readNative(cut(json, at))).toEqual(expected);
      }),
    );
  });

  it('are parsed while they come if there are many', () => {
    const expected = Array.from({ length: 20_000 }, (_, n) => ({ n, t: `t${n}` }));
    const json = JSON.stringify({ code: 200, data: expected });
    for (const size of [1000, 65_536, 100_000, 10_000_000]) {
      const pieces = cut(
        json,
        Array.from({ length: Math.floor(json.length / size) }, () => size),
      );
      const rows = new RowPieces('data');
      const early = pieces.flatMap((piece) => rows.feed(piece));
      expect([...early, ...rows.finish()]).toEqual(expected);
      expect(early.length).toBeGreaterThan(0);
      expect(readNative(pieces)).toEqual(expected);
    }
  });

  it.each(['', '{}', '{"data":[{"n":1}', '{"data":[{"n":1}]', '{"data":[{"n":1} {"n":2}]}', '{"data":[{"n":1}]} x'])(
    'are refused if they are no rows: %s',
    (json) => {
      expect(() => read(cut(json, []))).toThrow(/early|no JSON/);
      expect(() => readNative(cut(json, []))).toThrow('no JSON');
    },
  );
});
