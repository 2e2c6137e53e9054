import { describe, expect, it } from 'vitest';

import { judgeOf } from '../../src/compare/judge.js';
import type { CompletedRecord } from '../../src/records/record.js';
import { crossoverTexts } from '../../src/report/crossover.js';
import { around, completed, context, sizedWay as way } from '../records/sample-run.js';

const judge = judgeOf({ context });

/** The record with samples of other times. */
const withSeconds = ({ samples }: CompletedRecord, seconds: readonly number[]): Pick<CompletedRecord, 'samples'> => ({
  samples: samples.map((sample, index) => ({ ...sample, seconds: seconds[index]! })),
});

const textOf = (js: Readonly<Record<number, number>>, napi: Readonly<Record<number, number>>): string[] =>
  crossoverTexts([...way('js', js), ...way('napi', napi)], judge);

describe('the sentence about sizes', () => {
  it('says at which size one way overtakes the other', () => {
    expect(textOf({ 10: 1, 100: 10, 1000: 100 }, { 10: 2, 100: 5, 1000: 20 })).toEqual([
      'work: js up to about 32, napi from there on (10–100); at 1000, napi has 5.0× (4.8–5.2) the rate of js.',
    ]);
    expect(textOf({ 10: 2, 100: 5 }, { 10: 1, 100: 10 })[0]).toMatch(/^work: napi up to about 32, js from there on/);
  });

  it('says if one way is faster at all sizes, or at which sizes both are equivalent', () => {
    expect(textOf({ 10: 1, 100: 10 }, { 10: 0.5, 100: 2 })[0]).toBe(
      'work: napi is faster than js at all sizes (10 to 100), by 2.0× to 5.0×.',
    );
    expect(textOf({ 10: 1, 100: 10 }, { 10: 2, 100: 50 })[0]).toBe(
      'work: js is faster than napi at all sizes (10 to 100), by 2.0× to 5.0×.',
    );
    expect(textOf({ 10: 1, 100: 10 }, { 10: 1, 100: 10 })[0]).toBe(
      'work: equivalent at 10 (js and napi, 1.00× (0.96–1.04)), 100 (js and napi, 1.00× (0.96–1.04)).',
    );
  });

  it('lists the sizes if the verdicts change sides more than once', () => {
    expect(textOf({ 1: 1, 10: 1, 100: 1 }, { 1: 2, 10: 0.5, 100: 2 })[0]).toBe(
      'work: js up to 1, napi at 10, js from 100 on; at 100, js has 2.0× (1.9–2.1) the rate of napi.',
    );
  });

  it('says which sizes are open', () => {
    const [js, napi] = [way('js', { 1: 1, 10: 1, 100: 1 }), way('napi', { 1: 2, 10: 2, 100: 1 })];
    const restless = napi.map((record) =>
      record.size === 100 ? { ...record, ...withSeconds(record, [0.5, 2, 0.8, 1.9, 0.7]) } : record,
    );
    expect(crossoverTexts([...js, ...restless], judge)[0]).toMatch(
      /^work: js up to 10; no difference shown at 100 \((js or napi|napi or js), [\d.]+× \([\d.]+–[\d.]+\)\)\.$/,
    );
  });

  it('takes all ways of all sides as rivals', () => {
    const ways = [
      way('js', { 1: 4, 64: 8, 4096: 80 }),
      way('napi', { 1: 9, 64: 6, 4096: 10 }),
      way('js', { 1: 1, 64: 3, 4096: 30 }, 'wasm'),
    ];
    expect(crossoverTexts(ways.flat(), judge)).toEqual([
      'work: wasm up to about 320, napi from there on (64–4096); at 4096, napi has 3.0× (2.9–3.1) the rate of wasm.',
    ]);
    expect(
      crossoverTexts([...way('napi', { 1: 1, 2: 1 }), ...way('napi', { 1: 2, 2: 3 }, 'napi twice')], judge),
    ).toEqual(['work: napi is faster than napi twice at all sizes (1 to 2), by 2.0× to 3.0×.']);
  });

  it('is missing if there is one size, or none', () => {
    expect(textOf({ 10: 1 }, { 10: 2 })).toEqual([]);
    expect(crossoverTexts([completed({ side: 'js', lane: 'js', variant: 'js' }, around(1))], judge)).toEqual([]);
  });
});
