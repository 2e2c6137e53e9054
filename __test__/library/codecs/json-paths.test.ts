import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { JsonPaths } from '../../../src/index.js';

const bytes = (json: unknown): Uint8Array => Buffer.from(JSON.stringify(json));

describe('JsonPaths', () => {
  it('picks values by their paths', () => {
    const paths = new JsonPaths('result.*.id', 'result.*.data.*');
    const [ids, values] = paths.pick(
      bytes({
        result: [
          { id: 1, data: { a: 'é"', b: null } },
          { id: '2', data: {} },
        ],
      }),
    );
    expect([...ids!]).toEqual(['1', '2']);
    expect([...values!]).toEqual(['é"', null]);
    expect(() => values!.text(2)).toThrow('there is no value 2 among 2');
  });

  it('gives texts back as they were', () => {
    const paths = new JsonPaths('*.*');
    const text = fc.string({ unit: 'grapheme' });
    fc.assert(
      fc.property(fc.array(fc.array(text)), (texts) => {
        expect([...paths.pick(bytes(texts))[0]!]).toEqual(texts.flat());
      }),
    );
  });

  it('gives numbers as they are', () => {
    const paths = new JsonPaths({ path: '*.n', type: 'number' }, '*.t');
    fc.assert(
      fc.property(
        fc.array(fc.record({ n: fc.double({ noNaN: true, noDefaultInfinity: true }), t: fc.string() })),
        (rows) => {
          const [numbers, texts] = paths.pick(bytes(rows));
          // JSON has no minus zero.
          expect([...numbers!.numbers]).toEqual(rows.map(({ n }) => n + 0));
          expect([...texts!]).toEqual(rows.map(({ t }) => t));
          expect([...numbers!]).toEqual(rows.map(({ n }) => String(n + 0)));
        },
      ),
    );
    const [numbers] = paths.pick(bytes([{ n: null }, { n: 1 }]));
    expect([...numbers!]).toEqual([null, '1']);
    expect(numbers!.data.length).toBe(0);
    expect(() => paths.pick(bytes([{ n: '1' }]))).toThrow('something else, at line 1');
  });

  it('loses no digit of a number that is asked for as text', () => {
    const [value] = new JsonPaths('a').pick(Buffer.from('{"a":12345678901234567890123.10}'));
    expect(value!.text(0)).toBe('12345678901234567890123.10');
  });

  it('refuses JSON and paths that it cannot read', () => {
    expect(() => new JsonPaths()).toThrow('paths must be strings');
    expect(() => new JsonPaths('a', 'a')).toThrow('is there twice');
    expect(() => new JsonPaths({ path: 'a', type: 'date' } as never)).toThrow('a type');
    for (const json of ['', '{', '{"a":[]}', '\u0000']) {
      expect(() => new JsonPaths('a').pick(Buffer.from(json))).toThrow('no JSON');
    }
    expect(() => new JsonPaths('a').pick('{}' as unknown as Uint8Array)).toThrow('Uint8Array');
  });
});
