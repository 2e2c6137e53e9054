// The needs of tests, and which of them BOUNDARY_BENCH_REQUIRE names. In JavaScript, since what runs the tests reads it too.
import { readFileSync } from 'node:fs';

/** Each need by its word: what it is, the command that gets it, and whether `npm run test:all` requires it. */
export const needs = JSON.parse(readFileSync(new URL('needs.json', import.meta.url), 'utf8'));

/** Whether a need must be there. Throws where a word is unknown, of the need or in the variable. */
export function isRequired(need) {
  if (!Object.hasOwn(needs, need)) throw new Error(`${need} is no word of __test__/needs.json`);
  return requiredNeeds().includes(need);
}

/** The words of BOUNDARY_BENCH_REQUIRE. Throws where one is unknown. */
export function requiredNeeds() {
  const text = process.env.BOUNDARY_BENCH_REQUIRE ?? '';
  const words = text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
  const unknown = words.find((word) => !Object.hasOwn(needs, word));
  if (unknown === undefined) return words;
  throw new Error(
    `BOUNDARY_BENCH_REQUIRE names ${unknown}, which is none of ${Object.keys(needs).toSorted().join(', ')}`,
  );
}
