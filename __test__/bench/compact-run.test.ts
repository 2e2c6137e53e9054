import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { comparedAnew } from '../../src/compare/comparisons.js';
import type { Run } from '../../src/records/record.js';
import { parseRun, serializeRun } from '../../src/records/run-file.js';
import { COMPACT_MARK, compactNote, isCompact } from '../../src/report/compact.js';
import { sampleRun } from '../records/sample-run.js';
import { folderOfSuite } from '../temporary-folder.js';

const directory = folderOfSuite();

function compacted(text: string, ...words: readonly string[]): string {
  const path = join(directory, 'run.json');
  writeFileSync(path, text);
  execFileSync(process.execPath, ['bench/lab/compact-run.mjs', path, ...words, '--out', path]);
  return readFileSync(path, 'utf8');
}

test('a compact file keeps the CPU time and the block of each sample, so that its comparisons stay', () => {
  const whole = sampleRun();
  const text = compacted(serializeRun(whole));
  const run = comparedAnew(parseRun(text));
  expect(isCompact(run)).toBe(true);
  const figuresOf = ({ comparisons }: Run) =>
    comparisons
      .filter(({ kind }) => kind === 'lane')
      .map(({ numerator, ratio, cpu, noVerdict }) => [numerator, ratio.toFixed(2), cpu?.ratio.toFixed(2), noVerdict]);
  expect(figuresOf(run)).toEqual(figuresOf(comparedAnew(whole)));
  expect(figuresOf(run).some(([, , cpu]) => cpu !== undefined)).toBe(true);
  const blocks = run.records.flatMap((record) =>
    record.outcome === 'completed' ? record.samples.flatMap(({ block }) => block ?? []) : [],
  );
  expect(blocks).toEqual([1, 2, 3, 4, 5, 1, 2, 3, 4, 5]);
  expect(compacted(text)).toBe(text);
});

test('a compact file of one family has no cost model, which predict would read', () => {
  const text = serializeRun({ ...sampleRun(), model: { mechanisms: [], unfitted: [] } });
  expect(JSON.parse(compacted(text))).toHaveProperty('model');
  expect(JSON.parse(compacted(text, '--family', 'measurements'))).not.toHaveProperty('model');
});

test('a compact file keeps every sample, even if samples are alike', () => {
  const { records, ...run } = sampleRun();
  const samples = [0.5, 0.5, 0.5].map((seconds) => ({ fork: 1, seconds }));
  const alike = records.map((record) => (record.outcome === 'completed' ? { ...record, samples } : record));
  const read = parseRun(compacted(serializeRun({ ...run, records: alike })));
  const kept = read.records.flatMap((record) => (record.outcome === 'completed' ? [record.samples] : []));
  expect(kept).toEqual(kept.map(() => samples));
  expect(kept.length).toBeGreaterThan(0);
});

test('a compact file has times as multiples, and counts as runs', () => {
  const { records, ...run } = sampleRun();
  const samples = Array.from({ length: 30 }, (_, index) => ({
    fork: 1 + Math.floor(index / 10),
    block: 5 + 2 * index,
    executions: 3,
    seconds: 0.1234 + index / 1000,
    cpuUserSeconds: 1e-7 * index,
    cpuSystemSeconds: 0.25,
  }));
  const some = records.map((record) => (record.outcome === 'completed' ? { ...record, samples } : record));
  const text = compacted(serializeRun({ ...run, records: some }));
  const [record] = parseRun(text).records.filter(({ outcome }) => outcome === 'completed');
  expect(JSON.parse(text).records.find(({ id }: { id: string }) => id === record!.id).samples).toEqual([
    {
      exponent: -4,
      fork: { runs: [1, 0, 10, 2, 0, 10, 3, 0, 10] },
      block: { runs: [5, 2, 30] },
      seconds: samples.map(({ seconds }) => Math.round(seconds * 1e4)),
      cpuSeconds: 2500,
      first: { executions: 90 - 29 },
    },
  ]);
  expect(record).toMatchObject({
    samples: samples.map(({ fork, block, seconds }) => ({ fork, block, seconds: Number(seconds.toFixed(4)) })),
  });
  expect(compacted(text)).toBe(text);
});

test('a report says what a compact file leaves out, by what the file has', () => {
  const run = parseRun(compacted(serializeRun(sampleRun())));
  expect(compactNote(run)).toBe(
    `${COMPACT_MARK} which has no times of garbage and of stalls, and no memory: neither has this report.`,
  );
  const records = run.records.map((record) =>
    record.outcome === 'completed'
      ? { ...record, samples: record.samples.map(({ seconds }) => ({ seconds })) }
      : record,
  );
  expect(compactNote({ ...run, records })).toContain('no times of the CPU, of garbage');
});
