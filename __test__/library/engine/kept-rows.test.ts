import { expect, test } from 'vitest';

import { KeptRows } from '../../../src/library/engine/kept-rows.js';

const ROWS = 20_000;

/** A maker of functions that say which text they were made of. */
function maker(): { make: (directive: string) => (count: number) => string[]; texts: Set<string> } {
  const texts = new Set<string>();
  const functions = new Map<string, (count: number) => string[]>();
  const make = (directive: string): ((count: number) => string[]) => {
    const known = functions.get(directive) ?? ((count: number) => Array.from({ length: count }, () => directive));
    functions.set(directive, known);
    texts.add(directive);
    return known;
  };
  return { make, texts };
}

/** The sizes of an old generation that grows by the given bytes per row. */
function growing(bytesPerRow: number, rows = ROWS): () => number {
  let bytes = 0;
  return () => (bytes += (bytesPerRow * rows) / 2);
}

test('a function whose rows lie in the old generation stays', () => {
  const { make, texts } = maker();
  const kept = new KeptRows(make, growing(1000));
  for (let call = 0; call < 50; call++) kept.call(ROWS);
  expect(texts.size).toBe(1);
});

test('a function whose rows lie in the young generation is made again, but not for ever', () => {
  const { make, texts } = maker();
  const kept = new KeptRows(make, growing(0));
  const seen = new Set<string>();
  for (let call = 0; call < 100; call++) seen.add(kept.call(ROWS)[0]!);
  expect(texts.size).toBe(5);
  expect(seen).toEqual(texts);
});

test('the next query goes on with the newest function', () => {
  const { make } = maker();
  const first = new KeptRows(make, growing(0));
  for (let call = 0; call < 5; call++) first.call(ROWS);
  const newest = first.call(ROWS)[0];
  expect(new KeptRows(make, growing(0)).call(ROWS)[0]).toBe(newest);
});

test('few rows tell nothing, nor does a runtime that does not tell its sizes', () => {
  const { make, texts } = maker();
  const few = new KeptRows(make, growing(0));
  for (let call = 0; call < 50; call++) few.call(100);
  const unknown = new KeptRows(make, () => NaN);
  for (let call = 0; call < 50; call++) unknown.call(ROWS);
  expect(texts.size).toBe(1);
});
