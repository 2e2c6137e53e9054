import { describe, expect, it } from 'vitest';

import { crossing } from '../../src/crossing-addon.js';
import { detached } from '../detached.js';

type Call = (...values: unknown[]) => unknown;

const { sqlIsValid, sqlJson, sqlObjects } = crossing.codec;
const parse = crossing.codec.sqlWordsParser() as Call;
const functions: Record<string, Call> = {
  sqlIsValid: sqlIsValid as Call,
  sqlJson: sqlJson as Call,
  sqlObjects: sqlObjects as Call,
  parse,
};

/** Values that no function expects. */
const ODD: readonly unknown[] = [
  undefined,
  null,
  Number.NaN,
  -1,
  2n ** 80n,
  Symbol('odd'),
  {},
  ['SELECT 1'],
  new String('SELECT 1'),
  new Uint8Array(8),
  detached(new Uint32Array(64)),
  () => 'SELECT 1',
  {
    toString() {
      throw new Error('not asked for');
    },
  },
];

describe.each(Object.keys(functions))('%s', (name) => {
  const call = functions[name]!;
  it('refuses what is no text', () => {
    for (const value of ODD) {
      expect(() => call(value)).toThrow(Error);
      expect(() => call(value, new Uint32Array(64))).toThrow(Error);
      expect(() => call.call(value, 7)).toThrow(Error);
    }
  });

  it('takes any text', () => {
    for (const text of [
      '',
      ' ',
      ';',
      '\0',
      '\uD800',
      'SELECT',
      "SELECT '\uD800\0'",
      'SELECT `',
      '-- \u{1f600}',
      '/*',
    ]) {
      let thrown: unknown;
      try {
        call(text, new Uint32Array(256));
      } catch (error) {
        thrown = error;
      }
      expect(thrown === undefined || (thrown as Error).message.startsWith('[BB_INVALID_ARGUMENT] SQL at byte')).toBe(
        true,
      );
    }
  });

  it('takes a text in pieces, or of two bytes a character', () => {
    const pieces = Array.from({ length: 50 }, (_, place) => `a${place}`);
    for (const text of [`SELECT ${pieces.join(',')}`, `SELECT ${pieces.join(',')}, '\u20ac'`]) {
      expect(() => call(text, new Uint32Array(4096))).not.toThrow();
    }
  });
});

describe('more than 16 MiB', () => {
  const tooLong = [' '.repeat((16 << 20) + 1), `'${'\u20ac'.repeat(6 << 20)}'`];

  it.each(['sqlJson', 'sqlObjects', 'parse'])('are refused by %s', (name) => {
    for (const sql of tooLong) expect(() => functions[name]!(sql, new Uint32Array(64))).toThrow('[BB_TOO_LARGE]');
  });

  it('are not valid', () => {
    expect(tooLong.map((sql) => sqlIsValid(sql))).toEqual([false, false]);
  });
});

/** The nodes of `SELECT 1`: the statements, the statement and its eight parts, the item, its value and its missing alias. */
const NODES = 13;

describe('the memory of the words', () => {
  it('must be a Uint32Array that no other thread writes to', () => {
    for (const words of [
      undefined,
      [],
      new Int32Array(256),
      new Float64Array(256),
      new Uint8Array(1024),
      new ArrayBuffer(1024),
      new DataView(new ArrayBuffer(1024)),
    ]) {
      expect(() => parse('SELECT 1', words)).toThrow('[BB_INVALID_ARGUMENT] expected a Uint32Array');
    }
    expect(() => parse('SELECT 1', new Uint32Array(new SharedArrayBuffer(1024)))).toThrow('shared between threads');
  });

  it('that is too small is not written to, and the error names the size', () => {
    const needed = 4 * (parse('SELECT 1', new Uint32Array(256)) as number);
    expect(needed).toBe(4 * NODES);
    const short = new Uint32Array(needed - 1).fill(7);
    for (const words of [new Uint32Array(0), short, detached(new Uint32Array(64))])
      expect(parse('SELECT 1', words)).toBe(-needed);
    expect(short.every((word) => word === 7)).toBe(true);
  });

  it('is written only where nodes are, within the view', () => {
    const memory = new Uint32Array(4 * NODES + 16).fill(7);
    const view = memory.subarray(8, 8 + 4 * NODES);
    expect(parse('SELECT 1', view)).toBe(NODES);
    expect([...memory.slice(0, 8), ...memory.slice(-8)]).toEqual(Array.from({ length: 16 }, () => 7));
    const again = new Uint32Array(4 * NODES);
    parse('SELECT 1', again);
    expect([...view]).toEqual([...again]);
  });
});
