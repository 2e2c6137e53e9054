#!/usr/bin/env node
/**
 * Makes the small file of a run that `results/` keeps from the whole `run.json`. `--help` lists what it keeps.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

import { comparedAnew, rustLanesOf } from '../../dist/compare/comparisons.js';
import { parseRun, parseRunFields, wholeRecord, withEachSample } from '../../dist/records/run-file.js';
import { latencyIntervals } from '../../dist/report/percentile.js';
import { medianOf, processCpuOf } from '../../dist/stats/summary.js';
import { resultText } from './frame.mjs';

const USAGE = `Usage: node bench/lab/compact-run.mjs RUN.json [--family NAME | --model] [--out FILE]

Writes RUN.json in the compact form of the committed results to FILE, or to standard output.

It keeps the context, every record with its samples, its percentiles and its checksum, and the comparisons. With --family it keeps those
for one family, without a cost model. With --model it keeps the cost model alone, with the medians of the cells that it was fitted to.
It makes smaller:
  summary      left out, since it can be computed from the samples
  samples      only their process, their block and their times stay: the elapsed time, the CPU time of user and system together, and the
               times of encoding and decoding; run.md has the medians of the rest.
               Consecutive samples with the same fields are one entry, with a list of their seconds and of each other field
               that differs between them. Its times are multiples of a power of ten, and its counts may be runs
  executions   counted at the first sample of a cell, for all of its samples
  heap         the median of the bytes per call, at the first sample of a cell
  server       the median share of the CPU that the server used, at the first sample of a cell
  numbers      4 significant digits, all of a checksum
  histograms   left out; the percentiles stay, with the intervals of two
  comparisons  left out but for those with a rival, which are recomputed from the samples: the others can be computed
               from the records, whose rustLane tells the lane that a cell is compared with (not with --aa or --runtime)
  layout       one record or comparison per line, without indentation

The result follows schema/run.schema.json, and \`boundary-bench compare\` reads it. A compact file stays as it is when it is
compacted again. The file of bench/lab/hybrid-crossover.mjs is taken as well.
`;

/** The kinds of comparisons that follow from the records alone. */
const DERIVED = new Set(['lane', 'noise-floor', 'batching', 'best']);

/** The fields of a sample that only the first sample of a cell has, and the fields that count. The other fields are times. */
const FIRST = new Set(['executions', 'heapBytesPerCall', 'serverCpuUserSeconds', 'serverCpuSystemSeconds']);
const COUNTS = new Set(['fork', 'block']);

/** The significant digits of a number. */
const DIGITS = 4;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    family: { type: 'string' },
    model: { type: 'boolean' },
    out: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  },
});
if (values.help) {
  process.stdout.write(USAGE);
} else if (positionals.length !== 1) {
  process.stderr.write(USAGE);
  process.exitCode = 2;
} else {
  const [path] = positionals;
  const text = resultText(compact(parseRunFields(readFileSync(path, 'utf8'), path)));
  if (JSON.parse(text).schemaVersion !== undefined) parseRun(text, path);
  if (values.out === undefined) process.stdout.write(text);
  else writeFileSync(values.out, text);
}

function compact(file) {
  // A model that one family of several happens to allow says too little to be what `predict` reads.
  const { model, ...rest } = file;
  const { aa, runtimes } = file.context?.config ?? {};
  const isDerivable = file.comparisons !== undefined && aa !== true && runtimes === undefined;
  const lanes = isDerivable ? rustLanesOf(file) : new Map();
  const compactRecords = (records) =>
    records.map((record) => withGroupedSamples(rounded(compactRecord(withEachSample(record, record.id), lanes))));
  const records = file.records && compactRecords(file.records.filter(({ family }) => isKept(family)));
  return rounded({
    ...rest,
    ...(values.family === undefined && model !== undefined && { model }),
    ...(records && { records }),
    ...(file.comparisons && {
      // From the compact records, so that compacting a compact file gives the same file.
      comparisons: comparedAnew({
        ...file,
        records: records.map((record) => wholeRecord(record, record.id)),
      }).comparisons.filter((each) => isKeptComparison(each, file.context.config)),
    }),
    ...(file.runs && {
      runs: file.runs.map((run) => ({
        ...run,
        records: compactRecords(run.records),
      })),
    }),
  });
}

function isKept(family) {
  if (values.model) return false;
  return values.family === undefined || values.family === family;
}

function isKeptComparison({ kind, numerator }, { aa, runtimes }) {
  return aa !== true && runtimes === undefined && !DERIVED.has(kind) && isKept(numerator.split('/')[0]);
}

function compactRecord(record, lanes) {
  if (record.outcome !== 'completed') return record;
  const { samples, latency, behind } = record;
  // A sample that says nothing is one execution.
  const executions = samples.reduce((sum, sample) => sum + (sample.executions ?? 1) - 1, 1);
  const heapBytesPerCall = medianOf(record, (sample) => sample.heapBytesPerCall);
  // The shares of the server's time decide whether it was the limit.
  const serverShare = (secondsOf) =>
    medianOf(record, (sample) => secondsOf(sample) && secondsOf(sample) / sample.seconds);
  const [user, system] = [
    serverShare((sample) => sample.serverCpuUserSeconds),
    serverShare((sample) => sample.serverCpuSystemSeconds),
  ];
  return {
    ...record,
    summary: undefined,
    rustLane: lanes.get(record.id),
    samples: samples.map((sample, place) => ({
      fork: sample.fork,
      block: sample.block,
      executions: place === 0 && executions > 1 ? executions : undefined,
      seconds: sample.seconds,
      encodeSeconds: sample.encodeSeconds,
      decodeSeconds: sample.decodeSeconds,
      cpuSeconds: processCpuOf(sample),
      mainThreadCpuSeconds: sample.mainThreadCpuSeconds,
      heapBytesPerCall: place === 0 ? heapBytesPerCall : undefined,
      serverCpuUserSeconds: place === 0 && user !== undefined ? user * sample.seconds : undefined,
      serverCpuSystemSeconds: place === 0 && system !== undefined ? system * sample.seconds : undefined,
    })),
    ...(latency && { latency: { ...compactLatency(latency), intervals: latencyIntervals(record) } }),
    ...(behind && { behind: compactLatency(behind) }),
  };
}

/**
 * A record with one entry for consecutive samples with the same fields. The fields that only the first sample has are
 * apart. See `sample` of the schema.
 */
function withGroupedSamples(record) {
  if (record.outcome !== 'completed') return record;
  const isFirst = (field) => FIRST.has(field);
  const first = chosen(record.samples[0], isFirst);
  const groups = [];
  for (const sample of record.samples.map((each) => chosen(each, (field) => !isFirst(field)))) {
    const fields = Object.keys(sample).join();
    if (groups.at(-1)?.fields === fields) groups.at(-1).samples.push(sample);
    else groups.push({ fields, samples: [sample] });
  }
  const [head, ...others] = groups.map(({ samples }) => entryOf(samples));
  return { ...record, samples: [{ ...head, ...(Object.keys(first).length > 0 && { first }) }, ...others] };
}

/** The fields of a sample that are there, and that are chosen. */
function chosen(sample, isChosen) {
  return Object.fromEntries(Object.entries(sample).filter(([field, value]) => value !== undefined && isChosen(field)));
}

/** Samples with the same fields as one entry. */
function entryOf(samples) {
  if (samples.length === 1) return samples[0];
  // The shortest time keeps its digits.
  const exponent = Math.floor(Math.log10(Math.min(...samples.map(({ seconds }) => seconds)))) - DIGITS + 1;
  const columns = Object.keys(samples[0]).map((field) => {
    const values = samples.map((sample) => sample[field]);
    if (COUNTS.has(field)) return [field, countsOf(values)];
    const scaled = values.map((value) => Math.round(value / 10 ** exponent));
    return [field, field !== 'seconds' && scaled.every((value) => value === scaled[0]) ? scaled[0] : scaled];
  });
  return { exponent, ...Object.fromEntries(columns) };
}

/** Counts in their shortest form: one for all, runs, or a list. */
function countsOf(values) {
  if (values.every((value) => value === values[0])) return values[0];
  const runs = [];
  for (const value of values) {
    const last = runs.at(-1);
    if (last?.[2] === 1 && value >= last[0]) runs.splice(-1, 1, [last[0], value - last[0], 2]);
    else if (last?.[2] > 1 && value === last[0] + last[1] * last[2]) last[2] += 1;
    else runs.push([value, 0, 1]);
  }
  const short = { runs: runs.flat() };
  return JSON.stringify(short).length < JSON.stringify(values).length ? short : values;
}

/** The percentiles. */
function compactLatency(latency) {
  return { ...latency, histogram: undefined };
}

/** The value with its fractions rounded. The numbers of a checksum stay exact. */
function rounded(value) {
  if (typeof value === 'number') return Number.isInteger(value) ? value : Number(value.toPrecision(DIGITS));
  if (Array.isArray(value)) return value.map(rounded);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [name, name === 'checksum' ? part : rounded(part)]),
  );
}
