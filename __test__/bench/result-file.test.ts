import { expect, it } from 'vitest';

import { resultText } from '../../bench/lab/frame.mjs';

it('has a line per field and per element', () => {
  expect(resultText({ rows: 3, none: undefined, results: [{ a: 1 }, { a: null }] })).toBe(
    '{\n"rows":3,\n"results":[\n{"a":1},\n{"a":null}\n]\n}\n',
  );
});

it.each([Number.NaN, Infinity])('refuses %d, which JSON writes as null', (seconds) => {
  expect(() => resultText({ results: [{ cells: [{ seconds }] }] })).toThrow(
    `seconds is ${seconds}, which is no result`,
  );
});
