import { expect, test } from 'vitest';
import { comparisonsOf } from '../../src/compare/comparisons.js';
import { judgeOf } from '../../src/compare/judge.js';
import { coresOf } from '../../src/compare/server-bound.js';
import type { Comparison, CompletedRecord, RunRecord } from '../../src/records/record.js';
import { median } from '../../src/stats/quantile.js';
import { seededDraws } from '../../src/stats/random.js';
import { around, completed, failed, runOf, rustLaneOf, skipped } from '../records/sample-run.js';

/** The comparisons of one kind, or all. */
function compared(
  records: readonly RunRecord[],
  kind?: Comparison['kind'],
  options: Partial<Parameters<typeof comparisonsOf>[1]> = {},
): Comparison[] {
  const all = comparisonsOf(records, { rustLaneOf, margin: 0.05, ...options });
  return all.filter((comparison) => kind === undefined || comparison.kind === kind);
}

/** The only comparison of the best of both sides. */
function bestOf(records: readonly RunRecord[]): Comparison {
  const [best, ...others] = compared(records, 'best');
  expect(others).toEqual([]);
  return best!;
}

function pairs(kind: Comparison['kind'], records: readonly RunRecord[]): string[] {
  return compared(records, kind).map(({ numerator, denominator, ratio, verdict }) => {
    const shorten = (id: string): string => id.replace('measurements/', '');
    return `${shorten(numerator)} / ${shorten(denominator)} = ${ratio.toFixed(3)} ${verdict}`;
  });
}

const rustRow = { side: 'rust', lane: 'row', variant: 'RowWriter' } as const;
const staged = { side: 'napi', lane: 'staged-row', variant: 'RowInserter.addRow' } as const;
const columns = { side: 'js', lane: 'columns', variant: 'makeTable' } as const;
const rustColumns = { side: 'rust', lane: 'columns', variant: 'column slices' } as const;

test('a Node cell is set against the fastest Rust flavor of its lane, on its engine with its workers', () => {
  const records = [
    completed({ ...rustRow, flavor: 'sync' }, around(0.5)),
    completed({ ...rustRow, flavor: 'async' }, around(0.4)),
    completed({ ...rustRow, flavor: 'async', workers: 2 }, around(0.1)),
    completed({ ...rustRow, flavor: 'async', engine: 'memory' }, around(0.1)),
    completed(staged, around(0.8)),
    completed({ ...staged, workers: 2 }, around(0.2)),
  ];
  expect(pairs('lane', records)).toEqual([
    'insert.bulk/staged-row/napi/embedded/w1 / insert.bulk/row/rust/embedded/async/w1 = 0.500 slower',
    'insert.bulk/staged-row/napi/embedded/w2 / insert.bulk/row/rust/embedded/async/w2 = 0.500 slower',
  ]);
});

test('an engine in JavaScript alone is compared with memory, or with embedded if memory cannot do the workload', () => {
  const onArrow = { ...columns, engine: 'apache-arrow' } as const;
  const inMemory = { ...rustColumns, engine: 'memory' } as const;
  const embedded = completed(rustColumns, around(0.25));
  const node = completed(onArrow, around(0.5));
  expect(pairs('lane', [node, embedded, completed(inMemory, around(0.125))])).toEqual([
    'insert.bulk/columns/js/apache-arrow/w1 / insert.bulk/columns/rust/memory/w1 = 0.250 slower',
  ]);
  expect(pairs('lane', [node, embedded, skipped(inMemory, 'memory has no SQL')])).toEqual([
    'insert.bulk/columns/js/apache-arrow/w1 / insert.bulk/columns/rust/embedded/w1 = 0.500 slower',
  ]);
  // A failure is no reason to compare with another engine.
  expect(pairs('lane', [node, embedded, failed(inMemory, 'BB_X', 'broke')])).toEqual([]);
});

test('an engine that native code shares has no stand-in', () => {
  const records = [
    completed(columns, around(0.5)),
    failed(rustColumns, 'BB_X', 'broke'),
    completed({ ...rustColumns, engine: 'memory' }, around(0.1)),
  ];
  expect(pairs('lane', records)).toEqual([]);
});

test('rates are compared if the numbers of rows differ, and equal numbers are preferred', () => {
  const node = completed({ ...staged, rows: 1_000_000 }, around(0.1));
  const large = completed(rustRow, around(0.5));
  expect(pairs('lane', [node, large])).toEqual([
    'insert.bulk/staged-row/napi/embedded/w1 / insert.bulk/row/rust/embedded/w1 = 0.500 slower',
  ]);
  const small = { ...completed({ ...rustRow, rows: 1_000_000 }, around(0.1)), id: 'small' };
  expect(pairs('lane', [node, large, small])).toEqual([
    'insert.bulk/staged-row/napi/embedded/w1 / small = 1.000 equivalent',
  ]);
});

test('the best of each side meet, by engine and workers', () => {
  const records = [
    completed(rustRow, around(0.5)),
    completed(rustColumns, around(0.2)),
    completed(staged, around(0.4)),
    completed(columns, around(0.8)),
    completed({ ...rustColumns, workers: 2 }, around(0.1)),
    completed({ ...columns, workers: 2 }, around(0.05)),
    completed({ ...rustRow, engine: 'memory' }, around(0.01)),
  ];
  expect(pairs('best', records)).toEqual([
    'insert.bulk/columns/rust/embedded/w1 / insert.bulk/staged-row/napi/embedded/w1 = 2.000 faster',
    'insert.bulk/columns/rust/embedded/w2 / insert.bulk/columns/js/embedded/w2 = 0.500 slower',
  ]);
});

test('single requests and batches, of a size that both sides have, have a best each', () => {
  const ping = { family: 'sql', workload: 'ping', engine: 'mysql', connections: 4 } as const;
  const of = (side: 'rust' | 'napi', batch: number, seconds: number) => {
    const lane = batch === 1 ? 'call' : 'batch';
    const record = completed({ ...ping, side, lane, variant: 'ping', batch }, around(seconds));
    return { ...record, id: `${side}/b${batch}` };
  };
  const singles = [of('rust', 1, 0.4), of('napi', 1, 0.5)];
  expect(pairs('best', [...singles, of('rust', 64, 0.1)])).toEqual(['rust/b1 / napi/b1 = 1.250 faster']);
  expect(pairs('best', [...singles, of('rust', 64, 0.1), of('napi', 64, 0.2)])).toEqual([
    'rust/b1 / napi/b1 = 1.250 faster',
    'rust/b64 / napi/b64 = 2.000 faster',
  ]);
});

test('cells meet over the same transport alone', () => {
  const over = (transport: string, side: 'rust' | 'napi', seconds: number): RunRecord => {
    const record = completed(
      { ...(side === 'rust' ? rustColumns : { ...columns, side }), engine: 'hyper', transport },
      around(seconds),
    );
    return { ...record, id: `${transport}/${side}` };
  };
  const records = [over('tcp', 'rust', 0.4), over('ipc', 'rust', 0.1), over('tcp', 'napi', 0.8)];
  expect(pairs('lane', records)).toEqual([]);
  const laneOf = (id: string): string | undefined => (id.endsWith('napi') ? 'columns' : undefined);
  expect(
    compared(records, undefined, { rustLaneOf: laneOf }).flatMap(({ kind, transport, numerator, denominator }) =>
      kind === 'noise-floor' ? [] : [[kind, transport, numerator, denominator]],
    ),
  ).toEqual([
    ['lane', 'tcp', 'tcp/napi', 'tcp/rust'],
    ['best', 'tcp', 'tcp/rust', 'tcp/napi'],
  ]);
});

test('the noise floor sets odd processes against even ones', () => {
  const steady = completed(rustRow, [1, 2, 1, 2, 1]);
  const few = completed(staged, [1, 1, 1]);
  // Odd processes take 1 s, even ones 2 s: the odd ones have twice the rate.
  expect(compared([steady, few], 'noise-floor')).toEqual([
    {
      workload: 'insert.bulk',
      lane: 'row',
      engine: 'embedded',
      workers: 1,
      kind: 'noise-floor',
      numerator: steady.id,
      denominator: steady.id,
      ratio: 2,
      low: 2,
      high: 2,
      verdict: 'faster',
    },
  ]);
});

test('a cell that moved no rows takes part in nothing', () => {
  const records = [completed({ ...rustRow, rows: 0 }, around(1)), completed(staged, around(1))];
  expect(compared(records)).toEqual([expect.objectContaining({ kind: 'noise-floor', lane: 'staged-row' })]);
});

test('of two processes none is left out, since one alone shows nothing of how they differ', () => {
  const slow = completed({ ...rustRow, flavor: 'sync' }, [2, 2]);
  const varying = completed({ ...rustRow, flavor: 'async' }, [1, 1.5]);
  const { low, high } = bestOf([slow, varying, completed(columns, [1, 1])]);
  expect(high / low).toBeGreaterThan(1.3);
});

test('one process on a side gives no verdict, and the reason is named', () => {
  const rust = completed(rustRow, around(1));
  const once = (record: CompletedRecord, fork?: number): CompletedRecord => ({
    ...record,
    samples: record.samples.map(({ seconds }) => ({ seconds, ...(fork !== undefined && { fork }) })),
  });
  for (const node of [
    completed(staged, [9]),
    once(completed(staged, around(9)), 1),
    once(completed(staged, around(9))),
  ]) {
    const made = compared([rust, node]).filter(({ kind }) => kind !== 'noise-floor');
    expect(made.map(({ noVerdict }) => noVerdict)).toEqual(['one-process', 'one-process']);
    expect(made.map(({ verdict }) => verdict)).toEqual(['inconclusive', 'inconclusive']);
    const judged = judgeOf(runOf([rust, node]))(node, rust);
    expect(judged).toMatchObject({ verdict: 'inconclusive', noVerdict: 'one-process' });
  }
});

test('clients get no verdict if the server was the limit of both', () => {
  const request = { family: 'kv', workload: 'get', engine: 'redis', connections: 32, batch: 1, lane: 'call' } as const;
  const cell = (side: 'rust' | 'napi', seconds: number, busy: number): CompletedRecord => {
    const record = completed({ ...request, side, variant: 'KvClient' }, around(seconds));
    const samples = record.samples.map((sample) => ({
      ...sample,
      serverCpuUserSeconds: 0.75 * busy * sample.seconds,
      serverCpuSystemSeconds: 0.25 * busy * sample.seconds,
    }));
    return { ...record, samples };
  };
  expect(bestOf([cell('rust', 1, 0.95), cell('napi', 2, 0.93)]).verdict).toBe('server-bound');
  expect(bestOf([cell('rust', 1, 0.95), cell('napi', 2, 0.5)]).verdict).toBe('faster');
});

test('clients get no verdict if client and server kept all cores busy together, on any engine', () => {
  const cell = (side: 'rust' | 'napi', client: number, server?: number, engine = 'rest'): CompletedRecord => {
    const request = { family: 'rest', workload: 'pkread', engine, connections: 32, batch: 1, lane: 'call' } as const;
    const record = completed({ ...request, side, variant: 'HttpClient' }, around(side === 'rust' ? 1 : 2));
    const samples = record.samples.map((sample) => ({
      ...sample,
      cpuUserSeconds: 0.75 * client * sample.seconds,
      cpuSystemSeconds: 0.25 * client * sample.seconds,
      ...(server !== undefined && {
        serverCpuUserSeconds: 0.5 * server * sample.seconds,
        serverCpuSystemSeconds: 0.5 * server * sample.seconds,
      }),
    }));
    return { ...record, samples };
  };
  const verdict = (rust: CompletedRecord, node: CompletedRecord, cores?: number): string | undefined =>
    compared([rust, node], 'best', cores === undefined ? {} : { cores })[0]?.verdict;
  for (const engine of ['rest', 'mysql', 'ingest', 'shards']) {
    const [rust, node] = [cell('rust', 0.8, 1.1, engine), cell('napi', 1.1, 0.8, engine)];
    // Of four cores two were idle; the number of cores may not be known.
    const verdicts = [2, 4, undefined].map((cores) => verdict(rust, node, cores));
    expect([engine, ...verdicts]).toEqual([engine, 'server-bound', 'faster', 'faster']);
  }
  const saturated = cell('rust', 1, 0.95);
  // One client left the machine time, and of another server nothing is known.
  expect(verdict(saturated, cell('napi', 1, 0.4), 2)).toBe('faster');
  expect(verdict(saturated, cell('napi', 1.95), 2)).toBe('faster');
  expect(coresOf({ logicalCores: 8, cgroup: { cpus: 2 } })).toBe(2);
  expect(coresOf({ logicalCores: 8, cgroup: { memoryBytes: 1 } })).toBe(8);
});

test('the best of equal cells looks no faster than one of them', () => {
  const draw = seededDraws(7);
  const seconds = (): number[] => Array.from({ length: 5 }, () => 1 + draw(1000) / 5000);
  const lanes = ['row', 'columns', 'naive-row', 'arrow-ipc', 'arrow-batches'];
  const bests = Array.from({ length: 300 }, () => {
    const rust = lanes.map((lane) => completed({ ...rustRow, lane }, seconds()));
    return bestOf([...rust, completed(staged, seconds())]);
  });
  // Compared by the samples that made it the fastest, the best of the five would look faster than it is.
  expect(Math.abs(median(bests.map(({ ratio }) => ratio)) - 1)).toBeLessThan(0.015);
  expect(bests.filter(({ verdict }) => verdict === 'faster').length).toBeLessThan(0.05 * bests.length);
});

test('each process is compared by the cell that is the fastest in all others', () => {
  // Without any one of its three fast processes the first cell is slower than the second.
  const lucky = completed({ ...rustRow, flavor: 'sync' }, [0.9, 0.9, 0.9, 1.5, 1.5]);
  const steady = completed({ ...rustRow, flavor: 'async' }, [1, 1, 1, 1, 1]);
  const node = completed(staged, [2, 2, 2, 2, 2]);
  expect(bestOf([lucky, steady, node])).toMatchObject({ numerator: lucky.id, ratio: 2, forks: 5 });
});

test('says on how many processes a ratio rests if there was a choice', () => {
  const records = [
    completed({ ...rustRow, flavor: 'sync' }, [0.5, 0.5, 0.6]),
    completed({ ...rustRow, flavor: 'async' }, [0.6, 0.5, 0.5]),
    completed(staged, [0.5, 0.5, 0.5]),
  ];
  const countsOf = (measured: typeof records) => compared(measured).map(({ kind, forks }) => [kind, forks]);
  expect(countsOf(records)).toEqual([
    ['lane', 3],
    ['best', 3],
  ]);
  expect(countsOf(records.slice(1)).map(([, forks]) => forks)).toEqual([undefined, undefined]);
});

test('reaches further if processes disagree about the fastest', () => {
  const widthOf = (sync: number[], async: number[]): number => {
    const cells = [
      completed({ ...rustRow, flavor: 'sync' }, sync),
      completed({ ...rustRow, flavor: 'async' }, async),
      completed(staged, [1, 1.1, 1.2, 1.3]),
    ];
    const { low, high } = bestOf(cells);
    return Math.log(high / low);
  };
  const agreed = widthOf([0.5, 0.5, 0.5, 0.5], [0.6, 0.6, 0.6, 0.6]);
  // Without its last process the one is the faster, without its first the other; what they show is the same.
  expect(widthOf([0.5, 0.5, 0.5, 0.6], [0.6, 0.5, 0.5, 0.5])).toBeGreaterThan(1.2 * agreed);
});

test('leaves a cell out of the choice that lost by its first process, and got no other', () => {
  const lost = completed({ ...rustRow, flavor: 'async' }, [0.1]);
  const records = [completed({ ...rustRow, flavor: 'sync' }, [0.5, 0.5, 0.5]), lost, completed(staged, [1, 1, 1])];
  expect(compared(records).map(({ kind, ratio }) => [kind, ratio.toFixed(3)])).toEqual([
    ['lane', '0.500'],
    ['best', '2.000'],
  ]);
});
