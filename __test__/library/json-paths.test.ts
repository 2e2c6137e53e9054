import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { JsonPaths } from '../../src/index.js';

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

  it('refuses what it can not read', () => {
    expect(() => new JsonPaths()).toThrow('paths must be strings');
    expect(() => new JsonPaths('a', 'a')).toThrow('is there twice');
    for (const json of ['', '{', '{"a":[]}', '\u0000']) {
      expect(() => new JsonPaths('a').pick(Buffer.from(json))).toThrow('no JSON');
    }
    expect(() => new JsonPaths('a').pick('{}' as unknown as Uint8Array)).toThrow('Uint8Array');
  });
});
