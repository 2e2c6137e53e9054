/** The parser of SQL behind the addon for odd values: each is refused, or has a meaning. */
import { describe, expect, it, test } from 'vitest';

import { crossing } from '../../src/crossing-addon.js';
import { invalid, noError, oddValues } from './odd-values.js';

const { sqlIsValid, sqlJson, sqlObjects } = crossing.codec;

test('the trees are the same as JSON and as objects, whatever the characters', () => {
  for (const sql of ['', ';', "SELECT a, 'ä' FROM t; DELETE FROM u", `SELECT '\u{1f600}\0' AS "€"`]) {
    expect(sqlIsValid(sql)).toBe(true);
    expect(sqlObjects(sql), sql).toEqual(JSON.parse(sqlJson(sql)));
  }
  expect(sqlObjects('SELECT 1; SELECT 2')).toHaveLength(2);
});

describe('refused are', () => {
  it.each(['SELECT', 'SELECT `', "SELECT '", '/*', 'SELECT a FROM t WHERE (', `SELECT ${'('.repeat(900)}`])(
    'no SQL: %.30s',
    (sql) => {
      expect(sqlIsValid(sql)).toBe(false);
      expect(() => sqlJson(sql)).toThrow(invalid);
      expect(() => sqlObjects(sql)).toThrow(invalid);
    },
  );

  it('a tree that would be too deep', () => {
    const chain = `SELECT 1${'+1'.repeat(1e5)}`;
    expect(sqlIsValid(chain)).toBe(false);
    expect(() => sqlJson(chain)).toThrow('[BB_TOO_LARGE]');
    expect(() => sqlObjects(chain)).toThrow('[BB_TOO_LARGE]');
    const deepest = `SELECT 1${'+1'.repeat(490)}`;
    expect(sqlObjects(deepest)).toEqual(JSON.parse(sqlJson(deepest)));
  });

  it('odd values, with errors alone', () => {
    const calls = oddValues().flatMap((value) =>
      [sqlIsValid, sqlJson, sqlObjects].map((call) => noError(() => call(value as string))),
    );
    expect(calls.filter((thrown) => thrown !== undefined)).toEqual([]);
  });
});
