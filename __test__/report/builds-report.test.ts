import { expect, test } from 'vitest';

import { comparisonsOf } from '../../src/compare/comparisons.js';
import type { CompletedRecord, Run } from '../../src/records/record.js';
import { renderBuilds } from '../../src/report/builds-report.js';
import { completed, context } from '../records/sample-run.js';

/** A way by a build, whose samples vary in wall time and not in CPU time. */
function way(build: 'old' | 'new', cpu: number, mainThreadPart: number): CompletedRecord {
  const variant = `napi (${build})`;
  const seconds = build === 'old' ? [1, 9, 1, 5, 2] : [8, 1, 2, 1, 6];
  const record = completed({ family: 'work', lane: 'napi', side: 'napi', variant, calls: 1 }, seconds);
  const samples = record.samples.map((sample, index) => ({
    fork: index + 1,
    block: index + 1,
    seconds: sample.seconds,
    cpuSeconds: cpu * (1 + index / 100),
    mainThreadCpuSeconds: mainThreadPart * cpu * (1 + index / 100),
    longestStallMs: sample.seconds * 950,
  }));
  return { ...record, samples, id: `work/napi/${build}` };
}

/** The text of two builds of which the new one takes twice the CPU time, with the part of it on the main thread. */
function textOf(mainThreadPart: number): string {
  const records = [way('old', 0.1, mainThreadPart), way('new', 0.2, mainThreadPart)];
  const comparisons = comparisonsOf(records, {
    rustLaneOf: () => undefined,
    rivalOf: (id) => (id.endsWith('/new') ? 'work/napi/old' : undefined),
    margin: 0.05,
  });
  const run: Run = { schemaVersion: 4, context, records, comparisons };
  return renderBuilds(run, 0.05, { columns: 200 });
}

test('the line of two builds adds the verdict by CPU time if wall time cannot tell', () => {
  expect(textOf(1)).toMatch(/\(0\.\d+–\d+\.?\d*\) +inconclusive, by CPU time: slower, 0\.500?× \(/);
  expect(textOf(1)).toContain('Could not tell what is slower by more than 5.0%: 1 of 1 ways are inconclusive.');
});

test('CPU time says nothing of ways that work on other threads, too', () => {
  expect(textOf(0.5)).toMatch(/ inconclusive\n/);
});
