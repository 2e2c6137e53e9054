// The needs of tests, and which of them BOUNDARY_BENCH_REQUIRE names. In JavaScript, since the runner of the tests reads it too.
import { readFileSync } from 'node:fs';

/** Each need by its word: its description, the command that gets it, and whether `npm run test:all` requires it. */
export const needs = JSON.parse(readFileSync(new URL('needs.json', import.meta.url), 'utf8'));

/** Whether a need is required. Throws if the word of the need, or a word in the variable, is unknown. */
export function isRequired(need) {
  if (!Object.hasOwn(needs, need)) throw new Error(`${need} is no word of __test__/needs.json`);
  return requiredNeeds().includes(need);
}

/** The words of BOUNDARY_BENCH_REQUIRE. Throws if one is unknown. */
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
