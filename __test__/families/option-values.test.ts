import { describe, expect, it } from 'vitest';

import { checkValue } from '../../src/families/option.js';
import { kinds, parseBytes, parseFraction, parseRows } from '../../src/families/option-values.js';
import { CLIENT_OPTIONS } from '../../src/families/requests/options.js';
import { unknownWord } from '../../src/runner/filters.js';

describe('the values that people type', () => {
  const rows = {
    '1e6': 1e6,
    '1M': 1e6,
    '0.01M': 10_000,
    '10000': 10_000,
    '1.5k': 1500,
    '10,000': 10_000,
    '1_000': 1000,
  };
  it.each(Object.entries(rows))('%s rows', (text, rows) => expect(parseRows(text)).toBe(rows));

  const bytes = { '64K': 64_000, '64KB': 64_000, '64KiB': 65_536, '1MiB': 1_048_576, '100B': 100, '100': 100 };
  it.each(Object.entries(bytes))('%s', (text, bytes) => expect(parseBytes(text)).toBe(bytes));

  it.each(Object.entries({ '5%': 0.05, '0.05': 0.05, '0': 0 }))('%s of 1', (text, part) =>
    expect(parseFraction(text)).toBeCloseTo(part, 12),
  );

  it.each(Object.entries({ '100ms': 0.1, '2': 2, '0.5': 0.5, '30s': 30, '2min': 120 }))('%s', (text, seconds) =>
    expect(kinds.seconds.parse(text)).toBeCloseTo(seconds, 12),
  );

  it.each([
    ['-1', parseRows],
    ['1e', parseRows],
    ['K', parseBytes],
    ['100%', parseFraction],
    ['ms', kinds.seconds.parse],
    ['1 hour', kinds.seconds.parse],
  ])('%s is refused', (text, parse) => expect(() => parse(text)).toThrow(/like|must be/));
});

it('a client that a program names without its side is refused', () => {
  const check = (value: unknown) => (): void => checkValue('client', CLIENT_OPTIONS.client, value);
  expect(check('js:/a/client.mjs')).not.toThrow();
  for (const wrong of ['/a/client.mjs', 'rust:/a/client.mjs', 'js:', 7]) {
    expect(check(wrong)).toThrow("client must be 'js:' or 'napi:' and a path");
  }
});

it('suggests a word that is not like the one that was typed', () => {
  expect(unknownWord('node', ['rust', 'napi', 'js'], 'side').message).toContain('did you mean napi,js?');
  expect(unknownWord('duckdb', ['embedded', 'memory'], 'engine').message).toContain('did you mean embedded?');
  expect(unknownWord('duckdb', ['redis'], 'engine').message).not.toContain('did you mean');
});
