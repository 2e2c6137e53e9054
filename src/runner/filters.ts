import type { Cell } from '../records/record.js';
import type { PlannedCell } from '../families/workload.js';
import { suggestion } from '../closest-word.js';
import { BoundaryError } from '../errors.js';

/** The dimensions by which cells are filtered. */
export const FILTER_NAMES = ['family', 'workload', 'lane', 'side', 'engine', 'transport'] as const;

export type FilterName = (typeof FILTER_NAMES)[number];

/**
 * The filters of cells. A cell must match one word of each list. A cell without the dimension matches none. `*` in a word stands
 * for any characters. A list that is absent or empty matches every cell.
 */
export type CellFilters = { readonly [name in FilterName]?: readonly string[] };

/**
 * The values of `known` that the words match. Throws a `BoundaryError` with the code `BB_FILTER_UNKNOWN` for a word that matches
 * none. Its message lists the known values.
 */
export function valuesNamedBy(words: readonly string[], known: Iterable<string>, what: string): ReadonlySet<string> {
  const values = [...new Set(known)];
  const named = new Set<string>();
  for (const word of words) {
    const matching = values.filter(matcherOf(word));
    if (matching.length === 0) throw unknownWord(word, values, what);
    for (const value of matching) named.add(value);
  }
  return named;
}

/**
 * The cells that match every filter. Throws a `BoundaryError`: `BB_FILTER_UNKNOWN` for a word that matches nothing, and
 * `BB_FILTER_EMPTY` if each word matches something, but no cell matches all lists.
 */
export function filterCells(planned: readonly PlannedCell[], filters: CellFilters): PlannedCell[] {
  const tests = FILTER_NAMES.flatMap((name) => {
    const words = filters[name];
    if (words === undefined || words.length === 0) return [];
    const values = valuesNamedBy(
      words,
      planned.flatMap(({ cell }) => cell[name] ?? []),
      name,
    );
    return [(cell: Cell) => values.has(cell[name] ?? '')];
  });
  const chosen = planned.filter(({ cell }) => tests.every((test) => test(cell)));
  if (chosen.length === 0) throw noCell(filters);
  return chosen;
}

/** Whether each word of the filters matches one of these cells. */
export function wordsAreKnown(planned: readonly PlannedCell[], filters: CellFilters): boolean {
  return FILTER_NAMES.every((name) =>
    (filters[name] ?? []).every((word) => planned.some(({ cell }) => matcherOf(word)(cell[name] ?? ''))),
  );
}

function noCell(filters: CellFilters): BoundaryError {
  const given = FILTER_NAMES.flatMap((name) => {
    const words = filters[name] ?? [];
    return words.length === 0 ? [] : [`--${name} ${words.join(',')}`];
  });
  return new BoundaryError('BB_FILTER_EMPTY', `no cell matches ${given.join(' ') || 'this run'}`, {
    hint: '`npx boundary-bench list` shows the cells there are.',
  });
}

function matcherOf(word: string): (value: string) => boolean {
  if (!word.includes('*')) return (value) => value === word;
  const pattern = new RegExp(`^${word.split('*').map(escapeForPattern).join('.*')}$`);
  return (value) => pattern.test(value);
}

function escapeForPattern(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}

/** The error for a word that is not in `known`, with the closest known word as a suggestion if one is close. */
export function unknownWord(word: string, known: readonly string[], what: string): BoundaryError {
  const other = OTHER_WORDS[word.toLowerCase()];
  const isOther = other?.split(',').every((each) => known.includes(each)) === true;
  const meant = isOther ? `; did you mean ${other}?` : suggestion(word, known);
  return new BoundaryError('BB_FILTER_UNKNOWN', `unknown ${what} '${word}'${meant}`, {
    hint: known.length === 0 ? `No cell here has a ${what}.` : `Known: ${known.join(', ')}.`,
  });
}

/** The words for which people type others that are not like them. */
const OTHER_WORDS: Readonly<Record<string, string>> = {
  duckdb: 'embedded',
  node: 'napi,js',
  addon: 'napi',
  javascript: 'js',
  native: 'rust',
};
