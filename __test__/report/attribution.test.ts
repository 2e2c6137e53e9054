import { describe, expect, it } from 'vitest';

import { judgeOf } from '../../src/compare/judge.js';
import type { CompletedRecord, Sample } from '../../src/records/record.js';
import { attributionTexts } from '../../src/report/factor.js';
import { crossoverTexts } from '../../src/report/crossover.js';
import { around, completed, context } from '../records/sample-run.js';

const judge = judgeOf({ context });

function way(side: 'rust' | 'napi' | 'js', seconds: number, rest: Partial<CompletedRecord> = {}): CompletedRecord {
  const { lane = side, engine = 'in-process' } = rest;
  const record = completed({ family: 'work', workload: 'work.64', lane, side, variant: lane, engine }, around(seconds));
  return {
    ...record,
    samples: record.samples.map(({ fork, seconds: each, block }) => ({ fork, seconds: each, block }) as Sample),
    id: `work/64/${lane}`,
    size: 64,
    rows: 1,
    calls: 1,
    ...rest,
  };
}

describe('the sentence about a call', () => {
  const napi = way('napi', 1e-6);
  const twin = way('napi', 2e-7, { lane: 'napi-noop', engine: 'noop' });

  it('says which part the crossing is, and the work, if Rust does it alone', () => {
    expect(attributionTexts([way('js', 1e-6), napi, twin], judge)).toEqual([
      'work.64: a call of napi takes 1.00 µs: crossing 20% (19%–21%).',
    ]);
    expect(attributionTexts([napi, twin, way('rust', 5e-7)], judge)).toEqual([
      'work.64: a call of napi takes 1.00 µs: crossing 20% (19%–21%), the work in Rust 50% (48%–52%).',
    ]);
  });

  it("says that it can't tell a part that is measured to be more than the whole", () => {
    const slow = way('napi', 1.1e-6, { lane: 'napi-noop', engine: 'noop' });
    expect(attributionTexts([napi, slow], judge)).toEqual([
      "work.64: a call of napi takes 1.00 µs: crossing: can't tell (106%–114%).",
    ]);
  });

  it('says which part garbage is', () => {
    const samples: Sample[] = napi.samples.map((sample) => ({ ...sample, gcSeconds: 0.1 * sample.seconds }));
    expect(attributionTexts([{ ...napi, samples }, twin], judge)[0]).toContain('), garbage 10%.');
  });

  it('is missing without a twin, and if there is no verdict', () => {
    expect(attributionTexts([napi, way('rust', 5e-7)], judge)).toEqual([]);
    expect(attributionTexts([{ ...napi, noVerdict: 'too-short' }, twin], judge)).toEqual([]);
  });

  it('does not count twins among the ways of a size', () => {
    const at = (size: number, seconds: number): CompletedRecord[] =>
      [way('js', seconds), way('napi', seconds / 2), { ...twin }].map((record) => ({
        ...record,
        size,
        id: `${record.id}/${size}`,
      }));
    expect(crossoverTexts([...at(1, 1e-6), ...at(2, 2e-6)], judge)).toHaveLength(1);
  });
});
