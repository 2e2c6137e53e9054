/** A small run with a cell of every kind, for the tests of the layers that read runs. */
import { comparisonsOf } from '../../src/compare/comparisons.js';
import {
  type Cell,
  type CompletedRecord,
  type FailedRecord,
  type Run,
  type RunContext,
  type RunRecord,
  type Sample,
  type Side,
  type SimulatedNetwork,
  type SkippedRecord,
  itemsOf,
} from '../../src/records/record.js';
import { summarize } from '../../src/stats/summary.js';

export type CellFields = Partial<Cell> & Pick<Cell, 'lane' | 'side' | 'variant'>;

export function cell(fields: CellFields): Cell {
  const whole = {
    family: 'measurements',
    workload: 'insert.bulk',
    engine: 'embedded',
    workers: 1,
    ...(isCounted(fields) ? {} : { [fields.connections === undefined ? 'rows' : 'operations']: 10_000_000 }),
    ...fields,
  };
  const { family, workload, lane, side, engine, workers, flavor } = whole;
  return {
    id: [family, workload, lane, side, engine, ...(flavor === undefined ? [] : [flavor]), `w${workers}`].join('/'),
    ...(whole.queries === undefined && { bytes: itemsOf(whole) * 24 }),
    ...whole,
  };
}

/** Whether a cell says how much it does. */
function isCounted({ rows, operations, calls, items }: CellFields): boolean {
  return [rows, operations, calls, items].some((count) => count !== undefined);
}

/** A completed record whose samples took `seconds`, each in a process of its own, with resources in proportion. */
export function completed(fields: CellFields, seconds: readonly number[]): CompletedRecord {
  const whole = cell(fields);
  const samples = seconds.map((time, index): Sample => ({
    fork: index + 1,
    ...(whole.lane === 'batch' && { executions: 2 }),
    seconds: time,
    encodeSeconds: time * 0.1,
    decodeSeconds: time * 0.05,
    cpuUserSeconds: time * 0.75,
    cpuSystemSeconds: time * 0.25,
    mainThreadCpuSeconds: time * 0.5,
    peakRssBytes: (256 + index) * 1024 ** 2,
    gcSeconds: time * 0.125,
    longestStallMs: 2 + index,
  }));
  return {
    ...whole,
    outcome: 'completed',
    samples,
    summary: summarize(samples, whole),
    checksum: { rows: itemsOf(whole), sums: { id: '49999995000000', value: 4999999500000.25 } },
  };
}

export function failed(fields: CellFields, code: string, message: string): FailedRecord {
  return { ...cell(fields), outcome: 'failed', error: { code, message } };
}

export function skipped(fields: CellFields, reason: string): SkippedRecord {
  return { ...cell(fields), outcome: 'skipped', reason };
}

/** The record with its samples taken in turn with other cells' samples: one block each, of which the hypervisor disturbed one. */
export function inTurns(record: CompletedRecord): CompletedRecord {
  const samples = record.samples.map((sample, index) => ({
    ...sample,
    block: index + 1,
    ...(index === 1 && { retaken: 2 }),
    stolenSeconds: sample.seconds * 0.01,
  }));
  return { ...record, samples };
}

/** Five samples around `seconds`, within 2%. */
export function around(seconds: number): number[] {
  return [1.01, 0.99, 1, 1.02, 0.98].map((factor) => factor * seconds);
}

export const context: RunContext = {
  startedAt: '2026-05-02T10:00:00.000Z',
  seconds: 510,
  host: {
    os: 'Linux 6.8.0',
    arch: 'x86_64',
    cpu: 'Example CPU @ 2.50GHz',
    cpuKind: { family: 25, model: 17, stepping: 1 },
    cpuMhz: 2500.125,
    stolenPart: 0.015,
    physicalCores: 1,
    logicalCores: 2,
    governor: 'performance',
    memoryBytes: 16 * 1024 ** 3,
    cgroup: { cpus: 2, memoryBytes: 8 * 1024 ** 3 },
  },
  versions: { node: '20.19.0', v8: '11.3.244.8', rustc: '1.94.0', 'boundary-bench': '0.1.0', duckdb: '1.5.6' },
  build: {
    profile: 'release',
    targetCpu: 'native',
    addonSha256: '0123456789abcdef'.repeat(4),
    crossingSha256: '123456789abcdef0'.repeat(4),
    nativeSha256: '23456789abcdef01'.repeat(4),
  },
  git: { commit: '89abcdef01234567', dirty: true },
  config: { rows: 10_000_000, forks: 5, samples: 5, only: ['embedded'] },
};

export const network: SimulatedNetwork = {
  by: 'proxy',
  delayUs: 500,
  megabits: 1000,
  plain: { p50: 130_400, p99: 410_000 },
  delayed: { p50: 1_151_400, p99: 1_530_200 },
};

const RUST_LANES: Readonly<Record<string, string>> = {
  'naive-row': 'row',
  'staged-row': 'row',
  'naive-objects': 'objects',
};

/** The plan's rule of comparisons: a Node lane is compared with the Rust lane of its own name unless another is named. */
export const rustLaneOf = (id: string): string | undefined => {
  const [, , lane = '', side] = id.split('/');
  return side === 'rust' ? undefined : (RUST_LANES[lane] ?? lane);
};

export function runOf(records: readonly RunRecord[]): Run {
  return { schemaVersion: 4, context, records, comparisons: comparisonsOf(records, { rustLaneOf, margin: 0.05 }) };
}

const sync = { flavor: 'sync' } as const;
const scan = { workload: 'query.full_scan' } as const;
const aggregation = { workload: 'query.aggregation', rows: 10, queries: 1 } as const;

/** A completed record of five samples around `seconds`, made by asynchronous code unless `more` says otherwise. */
function ran(side: Side, lane: string, variant: string, seconds: number, more: Partial<Cell> = {}): CompletedRecord {
  return completed({ side, lane, variant, flavor: 'async', ...more }, around(seconds));
}

/** The cells of a way of a user's own work that takes the given seconds at each size. */
export function sizedWay(
  side: 'js' | 'napi',
  seconds: Readonly<Record<number, number>>,
  lane: string = side,
): CompletedRecord[] {
  return Object.entries(seconds).map(([size, time]) => ({
    ...completed(
      { family: 'work', workload: `work.${size}`, lane, side, variant: lane, engine: 'in-process', calls: 1 },
      around(time),
    ),
    id: `work/${size}/${lane}`,
    size: Number(size),
  }));
}

/** A run of a user's own work by three ways, of which one overtakes the others between the sizes 64 and 1024. */
export function sizedRun(): Run {
  return runOf([
    ...sizedWay('js', { 4: 1e-6, 64: 2e-6, 1024: 20e-6, 16_384: 320e-6 }, 'js'),
    ...sizedWay('js', { 4: 3e-6, 64: 4e-6, 1024: 22e-6, 16_384: 300e-6 }, 'wasm'),
    ...sizedWay('napi', { 4: 4e-6, 64: 5e-6, 1024: 9e-6, 16_384: 70e-6 }, 'napi'),
  ]);
}

/** A run of two ways of an addon by two builds. */
export function buildsRun(): Run {
  const way = (build: 'old' | 'new', seconds: number): CompletedRecord[] =>
    ['parse', 'hash'].map((lane) => ({
      ...completed({ family: 'work', lane, side: 'napi', variant: `${lane} (${build})`, calls: 1 }, around(seconds)),
      id: `work/${lane}/${build}`,
    }));
  const records = [...way('old', 0.1), ...way('new', 0.2)];
  const rivalOf = (id: string): string | undefined => (id.endsWith('/new') ? id.replace('new', 'old') : undefined);
  const comparisons = comparisonsOf(records, { rustLaneOf: () => undefined, rivalOf, margin: 0.05 });
  return { schemaVersion: 4, context, records, comparisons };
}

/** A run of requests: a client of each side, one at a time and in batches. */
export function requestsRun(): Run {
  const load = { family: 'kv', engine: 'redis', operations: 64_000, connections: 32 } as const;
  const clients = [
    ['rust', 'Client', 1],
    ['napi', 'KvClient, one for all', 1.1],
    ['js', '@redis/client, one for all', 2],
  ] as const;
  return runOf(
    ['get', 'mset'].flatMap((workload) =>
      clients.flatMap(([side, variant, seconds]) => [
        { ...completed({ ...load, workload, side, lane: 'call', variant, batch: 1 }, around(seconds)) },
        { ...completed({ ...load, workload, side, lane: 'batch', variant, batch: 64 }, around(seconds / 8)) },
      ]),
    ),
  );
}

export function sampleRun(): Run {
  const napiScan = {
    ...scan,
    side: 'napi',
    lane: 'columnar',
    variant: 'executeQueryColumnar',
    flavor: 'async',
  } as const;
  const arrow = { ...scan, ...sync, engine: 'apache-arrow' };
  const mget = { family: 'kv', workload: 'mget', engine: 'redis', operations: 110_000 };
  return runOf([
    ran('rust', 'row', 'RowWriter', 0.4, sync),
    ran('rust', 'columns', 'column slices', 0.31, sync),
    ran('rust', 'columns', 'column slices', 0.2, { workers: 2 }),
    ran('napi', 'naive-row', 'each value crosses (naive)', 0.8, { rows: 1e6 }),
    ran('napi', 'staged-row', 'RowInserter.addRow', 0.43),
    ran('napi', 'columns', 'RowInserter.addColumns', 0.312),
    ran('napi', 'columns', 'RowInserter.addColumns', 0.25, { workers: 2 }),
    inTurns(ran('rust', 'columnar', 'column slices', 0.06, { ...scan, ...sync, engine: 'memory' })),
    inTurns(completed({ ...napiScan, engine: 'memory' }, around(0.12).toReversed())),
    { ...ran('js', 'columnar', 'apache-arrow column loop', 0.05, arrow), noVerdict: 'too-short' },
    ran('napi', 'columnar', 'executeQueryColumnar', 0.033, aggregation),
    ran('js', 'columnar', '@duckdb/node-api columns', 0.033, aggregation),
    {
      ...completed({ ...mget, side: 'napi', lane: 'batch', variant: 'client.mget' }, around(0.05)),
      batch: 110,
      connections: 4,
      latency: {
        p50: 820,
        p90: 1200,
        p95: 1500,
        p99: 24_150,
        p999: 90_000,
        max: 1_800_250,
        histogram: 'HISTFAAAAA==',
        intervals: { p50: { low: 800, high: 840 }, p99: { low: 20_000, high: 29_000 } },
      },
    },
    failed(
      { ...scan, side: 'napi', lane: 'objects', variant: 'executeQuery' },
      'BB_CHECKSUM_MISMATCH',
      'expected 10 | got 9\nrows',
    ),
    {
      ...skipped(
        { ...aggregation, side: 'rust', lane: 'row', variant: 'RowWriter', engine: 'memory' },
        'memory has no SQL',
      ),
      serverEnded: false,
    },
  ]);
}
