/** The types of record.ts as run-time checks; `schema/run.schema.json` describes the same, and a test compares them. */
import {
  amount,
  anything,
  count,
  flag,
  listOf,
  mapOf,
  objectOf,
  oneOf,
  positiveCount,
  sum,
  text,
  variantOf,
} from './shape.js';

const cellRequired = {
  id: text,
  family: text,
  workload: text,
  lane: text,
  side: oneOf('rust', 'napi', 'js'),
  variant: text,
  engine: text,
  rows: count,
};

const cellOptional = {
  flavor: oneOf('sync', 'async'),
  transport: text,
  workers: positiveCount,
  batch: positiveCount,
  threads: positiveCount,
  rate: amount,
  bytes: count,
};

const sample = objectOf(
  { seconds: amount },
  {
    encodeSeconds: amount,
    decodeSeconds: amount,
    cpuUserSeconds: amount,
    cpuSystemSeconds: amount,
    mainThreadCpuSeconds: amount,
    peakRssBytes: count,
    serverCpuUserSeconds: amount,
    serverCpuSystemSeconds: amount,
    gcSeconds: amount,
    longestStallMs: amount,
    latency: text,
    behind: text,
  },
);

const summary = objectOf(
  { medianSeconds: amount, minSeconds: amount, maxSeconds: amount, spread: amount, rowsPerSecond: amount },
  { mebibytesPerSecond: amount },
);

const latency = objectOf({
  p50: amount,
  p90: amount,
  p95: amount,
  p99: amount,
  p999: amount,
  max: amount,
  histogram: text,
});

const checksum = objectOf({ rows: count, sums: mapOf(sum) });

export const recordShape = variantOf('outcome', {
  completed: objectOf(
    { ...cellRequired, samples: listOf(sample, 1), summary, checksum },
    { ...cellOptional, latency, behind: latency },
  ),
  failed: objectOf({ ...cellRequired, error: objectOf({ code: text, message: text }) }, cellOptional),
  skipped: objectOf({ ...cellRequired, reason: text }, cellOptional),
});

const comparison = objectOf(
  {
    workload: text,
    lane: text,
    engine: text,
    kind: oneOf('lane', 'best', 'batching', 'noise-floor'),
    numerator: text,
    denominator: text,
    ratio: amount,
    low: amount,
    high: amount,
    verdict: oneOf('faster', 'slower', 'no difference'),
  },
  { transport: text, workers: positiveCount, threads: positiveCount, batch: positiveCount },
);

const host = objectOf(
  { os: text, arch: text, cpu: text, logicalCores: positiveCount, memoryBytes: count },
  { physicalCores: positiveCount, governor: text, cgroup: objectOf({}, { cpus: amount, memoryBytes: count }) },
);

const roundTrip = objectOf({ p50: amount, p99: amount });

const network = objectOf(
  { by: oneOf('proxy', 'kernel'), delayUs: amount, plain: roundTrip, delayed: roundTrip },
  { megabits: amount },
);

export const contextShape = objectOf(
  {
    startedAt: text,
    host,
    versions: mapOf(text),
    build: objectOf({ profile: text, targetCpu: text, addonSha256: text }),
    config: mapOf(anything),
  },
  { git: objectOf({ commit: text, dirty: flag }), networks: mapOf(network) },
);

export const runShape = objectOf({
  context: contextShape,
  records: listOf(recordShape),
  comparisons: listOf(comparison),
});
