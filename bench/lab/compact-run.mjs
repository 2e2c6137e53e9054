#!/usr/bin/env node
/**
 * Makes the small file of a run that `results/` keeps from the whole `run.json`. `--help` lists what it keeps.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

import { comparedAnew } from '../../dist/compare/comparisons.js';
import { parseJson, parseRun, withEachSample } from '../../dist/records/run-file.js';
import { latencyIntervals } from '../../dist/report/latency-interval.js';
import { medianOf, summarize } from '../../dist/stats/summary.js';

const USAGE = `Usage: node bench/lab/compact-run.mjs RUN.json [--family NAME | --model] [--out FILE]

Writes RUN.json in the compact form of the committed results to FILE, or to standard output.

It keeps the context, every record with its samples, its percentiles and its checksum, and the comparisons. With --family it keeps those
for one family, without a cost model. With --model it keeps the cost model alone, with the medians of the cells that it was fitted to.
It makes smaller:
  summary      left out, since it can be computed from the samples
  samples      only their process, their block and their times stay: the elapsed time, the CPU time, and the times of encoding and
               decoding; run.md has the medians of the rest.
               Consecutive samples with the same fields are one entry, with a list of their seconds and of each other field
               that differs between them
  executions   counted at the first sample of a cell, for all of its samples
  heap         the median of the bytes per call, at the first sample of a cell
  server       the median share of the CPU that the server used, at the first sample of a cell
  numbers      5 significant digits, 4 of a sample, all of a checksum
  histograms   left out; the percentiles stay, with the intervals of two
  comparisons  recomputed from the samples, as this version computes them; comparisons of the kind lane stay,
               but not for a run with --aa or --runtime: the rest can be computed from the records
  layout       one record or comparison per line, without indentation

The result follows schema/run.schema.json, and \`boundary-bench compare\` reads it. A compact file stays as it is when it is
compacted again. The file of bench/lab/hybrid-crossover.mjs is taken as well.
`;

/** The kinds of comparisons that follow from the records alone. Comparisons of lanes say which lanes are compared. */
const DERIVED = new Set(['noise-floor', 'batching', 'best']);

const DIGITS = 5;
const SAMPLE_DIGITS = 4;

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
  const text = `${layOut(compact(parseJson(readFileSync(path, 'utf8'), path)))}\n`;
  if (JSON.parse(text).schemaVersion !== undefined) parseRun(text, path);
  if (values.out === undefined) process.stdout.write(text);
  else writeFileSync(values.out, text);
}

function compact(file) {
  const kept = file.records?.filter(({ family }) => isKept(family));
  const records = kept && rounded(kept.map((record) => compactRecord(withEachSample(record, record.id))));
  const summarized = records?.map((record) =>
    record.outcome === 'completed' ? { ...record, summary: summarize(record.samples, record) } : record,
  );
  // A model that one family of several happens to allow says too little to be what `predict` reads.
  const { model, ...rest } = file;
  return rounded({
    ...rest,
    ...(values.family === undefined && model !== undefined && { model }),
    ...(records && { records: records.map(withGroupedSamples) }),
    ...(file.comparisons && {
      // From the rounded records, so that compacting a compact file gives the same file.
      comparisons: comparedAnew({ ...file, records: summarized }).comparisons.filter((each) =>
        isKeptComparison(each, file.context.config),
      ),
    }),
    ...(file.runs && {
      runs: file.runs.map((run) => ({
        ...run,
        records: run.records.map((record) => ({
          ...withGroupedSamples(rounded(compactRecord(withEachSample(record, record.id)))),
          summary: record.summary,
        })),
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

function compactRecord(record) {
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
    samples: samples.map((sample, place) => ({
      fork: sample.fork,
      block: sample.block,
      executions: place === 0 && executions > 1 ? executions : undefined,
      seconds: sample.seconds,
      encodeSeconds: sample.encodeSeconds,
      decodeSeconds: sample.decodeSeconds,
      cpuUserSeconds: sample.cpuUserSeconds,
      cpuSystemSeconds: sample.cpuSystemSeconds,
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
 * A record with one entry for consecutive samples with the same fields. The entry has a list of their seconds, and a list of each other
 * field that differs between them.
 */
function withGroupedSamples(record) {
  if (record.outcome !== 'completed') return record;
  const groups = [];
  for (const sample of record.samples) {
    const fields = Object.keys(sample).filter((field) => sample[field] !== undefined);
    const last = groups.at(-1);
    if (last?.fields.join() === fields.join()) last.samples.push(sample);
    else groups.push({ fields, samples: [sample] });
  }
  return { ...record, samples: groups.map(({ fields, samples }) => entryOf(fields, samples)) };
}

function entryOf(fields, samples) {
  if (samples.length === 1) return samples[0];
  return Object.fromEntries(
    fields.map((field) => {
      const values = samples.map((sample) => sample[field]);
      const isList = field === 'seconds' || values.some((value) => value !== values[0]);
      return [field, isList ? values : values[0]];
    }),
  );
}

/** The percentiles. */
function compactLatency(latency) {
  return { ...latency, histogram: undefined };
}

/** The value with its fractions rounded. The numbers of a checksum stay exact. */
function rounded(value, digits = DIGITS) {
  if (typeof value === 'number') return Number.isInteger(value) ? value : Number(value.toPrecision(digits));
  if (Array.isArray(value)) return value.map((element) => rounded(element, digits));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => {
      if (name === 'checksum') return [name, part];
      return [name, rounded(part, name === 'samples' ? SAMPLE_DIGITS : digits)];
    }),
  );
}

/** JSON with one line per field of the file, or per element if the field is a list. */
function layOut(file) {
  const fields = Object.entries(file).map(([name, value]) => `${JSON.stringify(name)}:${layOutField(value)}`);
  return `{\n${fields.join(',\n')}\n}`;
}

function layOutField(value) {
  if (!Array.isArray(value) || value.length === 0) return JSON.stringify(value);
  return `[\n${value.map((element) => JSON.stringify(element)).join(',\n')}\n]`;
}
