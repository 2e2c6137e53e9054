import { describe, expect, it } from 'vitest';

import { judgeOf } from '../../src/compare/judge.js';
import type { CompletedRecord } from '../../src/records/record.js';
import { crossoverTexts } from '../../src/report/crossover.js';
import { around, completed, context } from '../records/sample-run.js';

const judge = judgeOf({ context });

/** The cells of a way that takes the given seconds at each size. */
function way(side: 'js' | 'napi', seconds: Readonly<Record<number, number>>, lane: string = side): CompletedRecord[] {
  return Object.entries(seconds).map(([size, time]) => ({
    ...completed(
      { family: 'work', workload: `work.${size}`, lane, side, variant: lane, engine: 'in-process' },
      around(time),
    ),
    id: `work/${size}/${lane}`,
    size: Number(size),
    rows: 1,
    calls: 1,
  }));
}

const textOf = (js: Readonly<Record<number, number>>, napi: Readonly<Record<number, number>>): string[] =>
  crossoverTexts([...way('js', js), ...way('napi', napi)], judge);

describe('the sentence about sizes', () => {
  it('says at which size one way overtakes the other', () => {
    expect(textOf({ 10: 1, 100: 10, 1000: 100 }, { 10: 2, 100: 5, 1000: 20 })).toEqual([
      'work: js up to about 32, napi from there on (10–100); at 1000, napi has 5.0× (4.8–5.2) the rate of js.',
    ]);
    expect(textOf({ 10: 2, 100: 5 }, { 10: 1, 100: 10 })[0]).toMatch(/^work: napi up to about 32, js from there on/);
  });

  it('says if one way is faster, or both are equivalent, at all sizes', () => {
    expect(textOf({ 10: 1, 100: 10 }, { 10: 0.5, 100: 2 })[0]).toBe(
      'work: napi is faster than js at all sizes (10 to 100), by 2.0× to 5.0×.',
    );
    expect(textOf({ 10: 1, 100: 10 }, { 10: 2, 100: 50 })[0]).toBe(
      'work: js is faster than napi at all sizes (10 to 100), by 2.0× to 5.0×.',
    );
    expect(textOf({ 10: 1, 100: 10 }, { 10: 1, 100: 10 })[0]).toBe(
      'work: napi and js are equivalent at all sizes (10 to 100).',
    );
  });

  it('lists the sizes if the verdicts change sides more than once', () => {
    expect(textOf({ 1: 1, 10: 1, 100: 1 }, { 1: 2, 10: 0.5, 100: 2 })[0]).toBe(
      'work: napi compared with js: slower up to 1, faster at 10, slower from 100 on.',
    );
  });

  it('is missing if there is one size, or none', () => {
    expect(textOf({ 10: 1 }, { 10: 2 })).toEqual([]);
    expect(crossoverTexts([completed({ side: 'js', lane: 'js', variant: 'js' }, around(1))], judge)).toEqual([]);
  });
});
