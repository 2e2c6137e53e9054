/** The tables of request work: small requests to a server, over connections with one request in flight each. */
import { groupBy } from '../compare/cell-groups.js';
import { BUSY, isServerBound } from '../compare/server-bound.js';
import type { Comparison, CompletedRecord, Sample } from '../records/record.js';
import { medianOf, rateOf } from '../stats/summary.js';
import { type Table, columns, dropping } from './document.js';
import { UNKNOWN, formatCount, formatDuration, formatLatency, formatShortRate } from './format.js';
import { type MarkedTable, type Pair, RUST_FACTOR_NOTE, bestFirst, factorOf, laneColumn } from './head-to-head.js';
import { sideAndVariantOf } from './labels.js';
import { forksMark, marksOf, notesOf } from './marks.js';
import { percentileText, requestsOf } from './percentile.js';

type RecordOf = (id: string) => CompletedRecord | undefined;

/** The share of its rate below which an open loop counts as too slow. */
const KEPT_RATE = 0.95;

/** The share of the latencies from which on a delay of our own shows in them. */
const VISIBLE_DELAY = 0.1;

const CLIENT_LIMIT = ' ¶';
const SERVER_LIMIT = ' ‖';

const THREADS_NOTE =
  'A thread is one connection with one request in flight. Throughput counts operations, latency requests.';

const PROCESSES_NOTE =
  'Threads × processes: so many processes sent requests at once, each over so many threads. Throughput is that of all together, from ' +
  'their common start to the last answer, and latencies are those of all their requests.';

const CPU_NOTE =
  'CPU time: of the process of the client, and after the + of the server, where it is local and its process known.';

const CLIENT_NOTE =
  '¶ The client was the bottleneck: its threads were busy all the time, so a faster server would not show.';

const SERVER_NOTE = '‖ The server was busy all the time, so this says nothing about the client.';

/** The throughput, latencies and CPU time of each cell. */
export function requestTable(records: readonly CompletedRecord[], logicalCores: number): MarkedTable {
  const isLimit = (record: CompletedRecord): boolean => isClientBound(record, logicalCores);
  const ordered = groupBy(records, (record) => record.workload).flat();
  const table: Table = {
    columns: dropping(
      columns('Benchmark', '>Throughput', '>Median', '>p99', '>Batch', '>Threads', '>CPU an operation'),
      'CPU an operation',
      'Median',
    ),
    rows: ordered.map((record) => [
      `${record.workload}, ${sideAndVariantOf(record)}`,
      formatShortRate(rateOf(record)) + (isLimit(record) ? CLIENT_LIMIT : '') + serverMark(record),
      percentileText(record, 'p50'),
      percentileText(record, 'p99'),
      formatCount(record.batch),
      threadsOf(record),
      cpuOf(record),
    ]),
  };
  const notes = [
    THREADS_NOTE,
    CPU_NOTE,
    ...(ordered.some(({ processes = 1 }) => processes > 1) ? [PROCESSES_NOTE] : []),
    ...(ordered.some(isLimit) ? [CLIENT_NOTE] : []),
    ...(ordered.some(isServerBound) ? [SERVER_NOTE] : []),
    ...ordered.flatMap(openLoopNotes),
  ];
  return { table, notes: ordered.length === 0 ? [] : notes };
}

/**
 * The one table of Rust with Node: of each work with so many threads first the best of either side, with any batch, then each lane of Node
 * with its lane of Rust of the same batch; and what batching gained Node. The comparisons may be those of one kind alone.
 */
export function requestHeadToHeadTable(comparisons: readonly Comparison[], recordOf: RecordOf): MarkedTable {
  const pairs = bestFirst(comparisons, recordOf);
  const lane = laneColumn(pairs);
  const won = batchingOf(comparisons);
  return {
    table: {
      columns: dropping(
        columns('Benchmark', ...lane.title, '>Threads', ...lane.sides, '>Rust factor', '>Batching won'),
        'Batching won',
        lane.sides[0],
      ),
      rows: pairs.map((pair) => {
        const { comparison, rust, node } = pair;
        return [
          comparison.workload,
          ...lane.of(pair),
          formatCount(comparison.threads),
          nameBatchAndRateOf(rust).replace(/^rust · /, ''),
          nameBatchAndRateOf(node),
          factorOf(comparison) + processMark(pair) + serverMark(rust, node),
          won(node.id),
        ];
      }),
    },
    notes: [
      ...(pairs.length === 0 ? [] : [RUST_FACTOR_NOTE]),
      ...notesOf(pairs.map((pair) => processMark(pair) + won(pair.node.id))),
      ...(pairs.some(({ rust, node }) => serverMark(rust, node) !== '') ? [SERVER_NOTE] : []),
    ],
  };
}

/** The name of a cell with its batch, if it has one: `napi · KvClient.mget, batch 64`. */
export function nameAndBatchOf(record: CompletedRecord): string {
  const batch = record.batch === undefined || record.batch === 1 ? '' : `, batch ${record.batch}`;
  return sideAndVariantOf(record) + batch;
}

function nameBatchAndRateOf(record: CompletedRecord): string {
  return `${nameAndBatchOf(record)} — ${formatShortRate(rateOf(record))}`;
}

/** For a cell's id, the factor by which its batches beat single operations. */
function batchingOf(comparisons: readonly Comparison[]): (id: string) => string {
  const batching = new Map(
    comparisons.filter(({ kind }) => kind === 'batching').map((comparison) => [comparison.numerator, comparison]),
  );
  return (id) => {
    const comparison = batching.get(id);
    return comparison === undefined ? UNKNOWN : factorOf(comparison) + forksMark(comparison.forks);
  };
}

/** The mark of few processes only: the number of operations does not matter to a rate of requests. */
function processMark({ rust, node, comparison }: Pair): string {
  return marksOf({ ...rust, rows: node.rows }, node, comparison.forks);
}

/** The CPU time of one operation, of the client and of the server. */
function cpuOf(record: CompletedRecord): string {
  const each = (seconds: (sample: Sample) => number | undefined): string | undefined => {
    const median = medianOf(record, seconds);
    return median === undefined ? undefined : formatDuration(median / record.rows);
  };
  const server = each(serverSeconds);
  return `${each(clientSeconds) ?? UNKNOWN}${server === undefined ? '' : ` + ${server}`}`;
}

/** The threads of a cell, with its processes where there are several: `32 × 2`. */
function threadsOf({ threads, processes }: CompletedRecord): string {
  return processes === undefined ? formatCount(threads) : `${formatCount(threads)} × ${processes}`;
}

/**
 * Whether the client had no time left: the threads that run JavaScript, or Rust's threads, by the driver, in all processes together. In
 * an open loop, which waits for the time of its next request, being busy means nothing.
 */
function isClientBound(record: CompletedRecord, logicalCores: number): boolean {
  const { side, rate, driver, threads = 1, processes = 1 } = record;
  if (rate !== undefined) return false;
  const byDefault = side === 'rust' ? Math.ceil(logicalCores / 2) : 1;
  const driving = driver === undefined ? byDefault : driver === 'all-cores' ? logicalCores : 1;
  const busy = medianOf(record, side === 'rust' ? clientShare : mainThreadShare);
  return busy !== undefined && busy >= BUSY * Math.min(processes * Math.min(threads, driving), logicalCores);
}

/** The mark of cells of which the server was the limit of each. */
function serverMark(...records: readonly CompletedRecord[]): string {
  return records.every(isServerBound) ? SERVER_LIMIT : '';
}

/** The reasons why an open loop did not keep its rate or its send times. */
function openLoopNotes(record: CompletedRecord): string[] {
  const { rate, latency, behind } = record;
  if (rate === undefined) return [];
  const name = `${record.workload}, ${nameAndBatchOf(record)}, ${record.threads ?? 1} threads`;
  const reached = requestsOf(record) / record.summary.medianSeconds;
  const isKept = reached >= KEPT_RATE * rate;
  const isLate = behind !== undefined && latency !== undefined && behind.p99 > VISIBLE_DELAY * latency.p99;
  return [
    ...(isKept ? [] : [`${name}: ${formatShortRate(reached)} of the ${formatShortRate(rate)} requests asked for.`]),
    ...(isLate
      ? [
          `${name}: the client itself sent late, by ${formatLatency(behind.p99)} in the p99; that is part of the latencies.`,
        ]
      : []),
  ];
}

const share = (seconds: number | undefined, sample: Sample): number | undefined =>
  seconds === undefined || sample.seconds === 0 ? undefined : seconds / sample.seconds;

const sumOf = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? undefined : a + b;

function clientSeconds({ cpuUserSeconds, cpuSystemSeconds }: Sample): number | undefined {
  return sumOf(cpuUserSeconds, cpuSystemSeconds);
}

function serverSeconds({ serverCpuUserSeconds, serverCpuSystemSeconds }: Sample): number | undefined {
  return sumOf(serverCpuUserSeconds, serverCpuSystemSeconds);
}

function clientShare(sample: Sample): number | undefined {
  return share(clientSeconds(sample), sample);
}

function mainThreadShare(sample: Sample): number | undefined {
  return share(sample.mainThreadCpuSeconds, sample);
}
