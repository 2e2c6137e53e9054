import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import {
  type Cell,
  type CostModel,
  type Run,
  type RunRecord,
  SCHEMA_VERSION,
  type Sample,
} from '../../src/records/record.js';
import { comparedAnew } from '../../src/compare/comparisons.js';
import { BoundaryError } from '../../src/errors.js';
import { parseRun, readRun, serializeRun } from '../../src/records/run-file.js';
import { completed, network, sampleRun } from './sample-run.js';
import { folderOfTest } from '../temporary-folder.js';

const schema = JSON.parse(await readFile(new URL('../../schema/run.schema.json', import.meta.url), 'utf8'));
const isValid = new Ajv2020({ allErrors: true, strict: true, strictRequired: false }).compile(schema);

function accepts(value: unknown): boolean {
  try {
    parseRun(JSON.stringify(value));
    return true;
  } catch (error) {
    if (error instanceof BoundaryError) return false;
    throw error;
  }
}

test('a full run follows the schema and comes back as it was', () => {
  const text = serializeRun(sampleRun());
  expect(isValid(JSON.parse(text)), JSON.stringify(isValid.errors)).toBe(true);
  expect(parseRun(text)).toEqual(sampleRun());
});

test('the summary that a compact file leaves out follows from the samples', () => {
  const run = sampleRun();
  const compact = { ...run, records: run.records.map((record) => ({ ...record, summary: undefined })) };
  const text = JSON.stringify(compact);
  expect(text).not.toContain('medianSeconds');
  expect(isValid(JSON.parse(text)), JSON.stringify(isValid.errors)).toBe(true);
  const medians = ({ records }: Run): number[] =>
    records.flatMap((record) => (record.outcome === 'completed' ? [record.summary.medianSeconds] : []));
  expect(medians(parseRun(text))).toEqual(medians(run));
});

test('samples that compact files list together are read one by one', () => {
  const sampled = (samples: readonly object[]): string => {
    const run = sampleRun();
    const records = run.records.map((record) => (record.outcome === 'completed' ? { ...record, samples } : record));
    return JSON.stringify({ ...run, records });
  };
  const first = { fork: 1, executions: 2, seconds: 3 };
  const together = sampled([first, { fork: 1, seconds: [2, 4] }, { fork: 2, seconds: 5 }]);
  const alone = sampled([first, { fork: 1, seconds: 2 }, { fork: 1, seconds: 4 }, { fork: 2, seconds: 5 }]);
  expect(isValid(JSON.parse(together)), JSON.stringify(isValid.errors)).toBe(true);
  expect(parseRun(together)).toEqual(parseRun(alone));
  const columns = { fork: 1, block: [1, 2], seconds: [2, 2], cpuUserSeconds: [1, 3] };
  expect(isValid(JSON.parse(sampled([columns]))), JSON.stringify(isValid.errors)).toBe(true);
  expect(parseRun(sampled([columns]))).toEqual(
    parseRun(
      sampled([
        { fork: 1, block: 1, seconds: 2, cpuUserSeconds: 1 },
        { fork: 1, block: 2, seconds: 2, cpuUserSeconds: 3 },
      ]),
    ),
  );
  for (const sample of [
    { ...columns, block: [1, 2, 3] },
    { ...columns, seconds: 2 },
  ]) {
    expect(() => parseRun(sampled([sample]), 'run.json')).toThrow(
      /^run\.json\.records\[\d+\]\.samples\[0\]\.block must have as many values as seconds, [12], but has [23]$/,
    );
  }
  const dense = {
    exponent: -3,
    first: { executions: 7 },
    fork: { runs: [1, 0, 2, 2, 0, 1] },
    block: { runs: [4, 3, 3] },
    seconds: [2000, 2003, 2],
    cpuUserSeconds: 1000,
  };
  expect(isValid(JSON.parse(sampled([dense]))), JSON.stringify(isValid.errors)).toBe(true);
  expect(parseRun(sampled([dense]))).toEqual(
    parseRun(
      sampled([
        { executions: 7, fork: 1, block: 4, seconds: 2, cpuUserSeconds: 1 },
        { fork: 1, block: 7, seconds: 2.003, cpuUserSeconds: 1 },
        { fork: 2, block: 10, seconds: 0.002, cpuUserSeconds: 1 },
      ]),
    ),
  );
  for (const runs of [
    [1, 0, 2],
    [1, 0, 1e15],
    [1, 0, 3, 1],
    [1, 0, 3, 1, 0],
  ]) {
    expect(() => parseRun(sampled([{ ...dense, block: { runs } }]), 'run.json')).toThrow(
      /samples\[0\]\.block must have as many values as seconds, 3, but has (2|NaN|1000000000000000)$/,
    );
  }
  for (const block of [{ runs: [1, 0] }, { runs: [1, -1, 3] }, {}, 'one']) {
    expect(accepts(JSON.parse(sampled([{ ...dense, block }])))).toBe(false);
    expect(isValid(JSON.parse(sampled([{ ...dense, block }])))).toBe(false);
  }
  for (const seconds of [[], [1], [1, 0], [1, 'two']]) {
    expect(accepts(JSON.parse(sampled([{ seconds }])))).toBe(false);
    expect(isValid(JSON.parse(sampled([{ seconds }])))).toBe(false);
  }
});

test('the comparisons that a compact file leaves out follow from the records', () => {
  const run = comparedAnew(sampleRun());
  const laneOf = new Map(run.records.map(({ id, lane }) => [id, lane]));
  const lanes = run.comparisons.filter(({ kind }) => kind === 'lane');
  const rustLanes = new Map(lanes.map(({ numerator, denominator }) => [numerator, laneOf.get(denominator)]));
  const records = run.records.map((record) => ({ ...record, rustLane: rustLanes.get(record.id) }));
  const text = JSON.stringify({ ...run, records, comparisons: [] });
  expect(isValid(JSON.parse(text)), JSON.stringify(isValid.errors)).toBe(true);
  expect(lanes.length).toBeGreaterThan(0);
  expect(parseRun(text).comparisons).toEqual(run.comparisons);
});

test('the schema is named by its version', () => {
  expect(schema.$id).toBe(`urn:boundary-bench:run:${SCHEMA_VERSION}`);
});

/** The fields that a cell may have. */
type CellOptions = Required<Omit<Cell, 'id' | 'family' | 'workload' | 'lane' | 'side' | 'variant' | 'engine'>>;

/**
 * One record of each kind, with one sample, and one comparison: every part of the layout, with few repetitions. By the compiler, cells and
 * samples have every field of their types, so that the schema, which takes no others, lacks none.
 */
function smallRun(): Run {
  const { records, comparisons, context, ...rest } = sampleRun();
  const kinds: ((record: RunRecord) => boolean)[] = [
    (record) => record.outcome === 'completed' && record.flavor !== undefined,
    (record) => record.outcome === 'completed' && record.queries !== undefined,
    (record) => record.outcome === 'completed' && record.calls !== undefined,
    (record) => record.outcome === 'completed' && record.latency !== undefined,
    (record) => record.outcome === 'failed',
    (record) => record.outcome === 'skipped',
  ];
  const call = completed({ lane: 'call', side: 'napi', variant: 'napi-rs', calls: 100 }, [1]);
  const options: CellOptions = {
    workers: 1,
    transport: 'tcp',
    connections: 1,
    rows: 1,
    operations: 1,
    items: 1,
    batch: 1,
    rate: 10,
    driver: 'one-thread',
    processes: 2,
    requests: 3,
    size: 64,
    flavor: 'sync',
    bytes: 240,
    queries: 1,
    calls: 1,
    crossing: {
      what: 'rows',
      direction: 'in',
      rows: 1,
      numbers: 2,
      texts: 1,
      bytes: 12,
      client: 'napi-rs',
      isHeldOut: true,
    },
    runtime: 'node@22',
  };
  const kept = kinds.map((isKind) => ({
    ...options,
    ...[...records, call].find(isKind)!,
  }));
  const wholeSample: Required<Sample> = {
    fork: 1,
    block: 1,
    retaken: 1,
    stolenSeconds: 0.01,
    executions: 2,
    seconds: 1,
    encodeSeconds: 0.1,
    decodeSeconds: 0.1,
    cpuUserSeconds: 1,
    cpuSystemSeconds: 0.5,
    cpuSeconds: 1.5,
    mainThreadCpuSeconds: 1,
    idleSeconds: 0.1,
    minorFaults: 7,
    threads: 2,
    peakRssBytes: 1024,
    serverCpuUserSeconds: 1,
    serverCpuSystemSeconds: 0.5,
    gcSeconds: 0.1,
    heapBytesPerCall: 64,
    longestStallMs: 1,
    latency: 'HIST',
    behind: 'HIST',
  };
  const { executions, serverCpuUserSeconds, serverCpuSystemSeconds, heapBytesPerCall } = wholeSample;
  const compactParts = {
    exponent: -1,
    first: { executions, serverCpuUserSeconds, serverCpuSystemSeconds, heapBytesPerCall },
  };
  const pieces = { call: 1, row: 1000, number: 2000, text: 1000, byte: 12_000 };
  const mechanism = {
    what: 'rows',
    direction: 'in',
    side: 'napi',
    lane: 'objects',
    variant: 'napi-rs',
    client: 'napi-rs',
    batch: 1,
  } as const;
  const cell = {
    id: 'boundary/rows_in.1/objects/napi/napi-rs',
    measured: 1e-6,
    predicted: 1.1e-6,
    low: 1e-6,
    high: 1.2e-6,
  };
  const model: CostModel = {
    mechanisms: [
      {
        ...mechanism,
        costs: [
          { of: 'row', seconds: 1e-6, low: 0, high: 2e-6 },
          { of: 'call', after: 10, seconds: 1e-6, low: 0, high: 2e-6 },
        ],
        knees: [{ after: 10, factor: 2 }],
        covariance: [
          [1e-12, 0],
          [0, 1e-12],
        ],
        inseparable: { call: [1], row: [1], number: [2], text: [1], byte: [-12.5] },
        most: pieces,
        mostPerRow: pieces,
        deviation: 0.1,
        degrees: 3,
        worst: 0.2,
        worstStraight: 0.5,
        fitted: [cell],
        heldOut: [cell],
      },
    ],
    unfitted: [{ ...mechanism, reason: 'too few' }],
  };
  return {
    ...rest,
    model,
    profiles: [{ id: 'work/js', flameGraph: 'profiles/work_js.svg', cpuProfile: 'profiles/work_js.cpuprofile' }],
    context: {
      ...context,
      loopSeconds: 1e-6,
      networks: { shards: network },
      adaptations: { shards: ['rows are sent by hand'] },
      files: ['/home/someone/sums.bench.mjs'],
    },
    records: kept.map((record) =>
      record.outcome === 'completed'
        ? {
            ...record,
            behind: record.latency,
            samples: [{ ...wholeSample, ...compactParts }],
            rustLane: 'columns',
            noVerdict: 'too-short' as const,
          }
        : record,
    ),
    comparisons: comparisons.slice(0, 1).map((comparison) => ({
      ...comparison,
      transport: 'tcp',
      connections: 1,
      batch: 1,
      forks: 2,
      noVerdict: 'too-short' as const,
    })),
  };
}

interface Schema {
  $ref?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  oneOf?: Schema[];
  additionalProperties?: Schema | boolean;
  const?: unknown;
}

/** The paths of the schema's properties that none of the values has. */
function unseen(part: Schema, values: readonly unknown[], path = 'run'): string[] {
  if (part.$ref !== undefined) return unseen(schema.$defs[part.$ref.replace('#/$defs/', '')], values, path);
  if (values.length === 0) return [path];
  const of = (key: string): unknown[] => values.flatMap((value) => (value as Record<string, unknown>)[key] ?? []);
  const isOf = (variant: Schema) => (value: unknown) =>
    schema.$defs[variant.$ref!.replace('#/$defs/', '')].properties.outcome.const ===
    (value as { outcome: unknown }).outcome;
  return [
    ...Object.entries(part.properties ?? {}).flatMap(([key, property]) => unseen(property, of(key), `${path}.${key}`)),
    ...(part.items === undefined ? [] : unseen(part.items, values, path)),
    ...(part.oneOf ?? []).flatMap((variant) => unseen(variant, values.filter(isOf(variant)), path)),
  ];
}

test('the small run has every property of the schema', () => {
  expect(unseen(schema, [smallRun()])).toEqual([]);
});

type Path = readonly (string | number)[];

/** The path of every place in a JSON value except its root. */
function placesIn(value: unknown, path: Path = []): Path[] {
  const here = path.length === 0 ? [] : [path];
  if (typeof value !== 'object' || value === null) return here;
  const keys = Array.isArray(value) ? [...value.keys()] : Object.keys(value);
  return [
    ...here,
    ...keys.flatMap((key) => placesIn((value as Record<string | number, unknown>)[key], [...path, key])),
  ];
}

test('the reader and the schema refuse the same runs', () => {
  const text = serializeRun(smallRun());
  const changed = (path: Path, change: (parent: Record<string | number, unknown>, key: string | number) => void) => {
    const run: unknown = JSON.parse(text);
    const parent = path.slice(0, -1).reduce((value, key) => (value as Record<string | number, unknown>)[key], run);
    change(parent as Record<string | number, unknown>, path.at(-1)!);
    return run;
  };
  const replacements = [null, -1, 0, 0.5, 1, '', '12', 'rust', true, [], {}];
  let refused = 0;
  const paths = placesIn(JSON.parse(text));
  for (const path of paths) {
    const variants = replacements.map((replacement) => changed(path, (parent, key) => (parent[key] = replacement)));
    // Leaving out an element would put a hole into a list, which JSON doesn't have.
    if (typeof path.at(-1) === 'string') variants.push(changed(path, (parent, key) => delete parent[key]));
    for (const variant of variants) {
      const expected = isValid(variant);
      expect(accepts(variant), `${path.join('.')}: ${JSON.stringify(isValid.errors?.[0])}`).toBe(expected);
      if (!expected) refused++;
    }
  }
  expect(refused).toBeGreaterThan(paths.length);
});

test.each([
  ['not JSON', '{"schemaVersion":1,', 'BB_RESULT_FILE_NOT_JSON', 'a.json is not JSON'],
  ['a list', '[]', 'BB_RESULT_FILE_SHAPE', 'a.json must be an object, but is []'],
  ['no version', '{}', 'BB_RESULT_FILE_VERSION', 'a.json has schema version none; this version reads 3'],
  [
    'an earlier version',
    '{"schemaVersion":2}',
    'BB_RESULT_FILE_VERSION',
    'a.json has schema version 2; this version reads 3',
  ],
  ['no context', '{"schemaVersion":4}', 'BB_RESULT_FILE_SHAPE', 'a.json.context is missing'],
])('refuses %s', (_, content, code, message) => {
  expect(() => parseRun(content, 'a.json')).toThrow(
    expect.objectContaining({ code, message: expect.stringContaining(message) }),
  );
});

test('reads a file, or says why it cannot', async () => {
  const directory = folderOfTest();
  const path = join(directory, 'run.json');
  await expect(readRun(path)).rejects.toMatchObject({ name: 'BoundaryError', code: 'BB_RESULT_FILE_UNREADABLE' });
  await writeFile(path, serializeRun(sampleRun()));
  expect(await readRun(path)).toEqual(sampleRun());
});
