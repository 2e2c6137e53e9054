/** The tables of request work: small requests to a server, over connections with one request in flight each. */
import { type RecordOf, groupBy } from '../compare/cell-groups.js';
import { BUSY, isServerBound } from '../compare/server-bound.js';
import { type Comparison, type CompletedRecord, type Sample, itemsOf } from '../records/record.js';
import { medianOf, processCpuOf, rateOf, serverCpuOf } from '../stats/summary.js';
import { tableOf } from './document.js';
import { UNKNOWN, formatCount, formatDuration, formatLatency, formatShortRate } from './format.js';
import {
  type MarkedTable,
  type Pair,
  bestFirst,
  cpuColumn,
  cpuMark,
  factorNotes,
  laneColumn,
  marksOfPair,
  sideTitles,
} from './head-to-head.js';
import { factorOf } from './factor.js';
import { batchText, sideAndVariantOf } from './labels.js';
import { forksMark, noVerdictMark, noVerdictNotes, notesOf } from './marks.js';
import { CLOSED_LOOP_NOTE, isClosedLoop, percentileIntervalText, requestsOf } from './percentile.js';

/** The share of its rate below which an open loop counts as too slow. */
const KEPT_RATE = 0.95;

/** The share of the latencies from which on a delay of our own shows in them. */
const VISIBLE_DELAY = 0.1;

const CLIENT_LIMIT = ' (client-bound)';
const SERVER_LIMIT = ' (server-bound)';

const THREADS_NOTE =
  'A thread is one connection with one request in flight. Throughput counts operations, latency requests.';

const PROCESSES_NOTE =
  'Connections × processes: the connections of each process, and the processes that sent requests at once. Throughput is of all together, from ' +
  'their common start to the last answer, and latencies are of all their requests.';

const CPU_NOTE =
  'CPU time: of the process of the client, and after the + of the server, if it is local and its process is known.';

const BATCHING_NOTE =
  'Batching factor: the rate of the side Node in batches divided by its rate with one operation per request.';

const CLIENT_NOTE =
  '(client-bound): the threads of the client were busy all the time, so a faster server would not show.';

const SERVER_NOTE =
  '(server-bound): the server was busy all the time, or kept all cores busy together with the client, so this says nothing about the client.';

/** The throughput, latencies and CPU time of each cell. */
export function requestTable(records: readonly CompletedRecord[], logicalCores: number): MarkedTable {
  const isLimit = (record: CompletedRecord): boolean => isClientBound(record, logicalCores);
  const isBound = (record: CompletedRecord): boolean => isServerBound(record, logicalCores);
  const ordered = groupBy(records, (record) => record.workload).flat();
  const isClosed = ordered.some(isClosedLoop) && ordered.every(({ rate }) => rate === undefined);
  const table = tableOf(ordered, [
    { title: 'Benchmark', of: (record) => `${record.workload}, ${sideAndVariantOf(record)}` },
    {
      title: '>Throughput',
      of: (record) =>
        formatShortRate(rateOf(record)) +
        (isLimit(record) ? CLIENT_LIMIT : '') +
        serverMark(isBound(record)) +
        noVerdictMark(record.noVerdict),
    },
    { title: '>Median', of: (record) => percentileIntervalText(record, 'p50'), goes: 1 },
    { title: isClosed ? '>p99 (closed loop)' : '>p99', of: (record) => percentileIntervalText(record, 'p99') },
    { title: '>Batch', of: ({ batch }) => formatCount(batch) },
    { title: '>Connections', of: connectionsOf },
    { title: '>CPU an operation', of: cpuOf, goes: 0 },
  ]);
  const notes = [
    THREADS_NOTE,
    ...(ordered.some(isClosedLoop) ? [CLOSED_LOOP_NOTE] : []),
    CPU_NOTE,
    ...(ordered.some(({ processes = 1 }) => processes > 1) ? [PROCESSES_NOTE] : []),
    ...(ordered.some(isLimit) ? [CLIENT_NOTE] : []),
    ...(ordered.some(isBound) ? [SERVER_NOTE] : []),
    ...noVerdictNotes(ordered),
    ...ordered.flatMap(openLoopNotes),
  ];
  return { table, notes: ordered.length === 0 ? [] : notes };
}

/**
 * The one table of Rust with Node. For each work and number of connections, it has first the best of either side, with
 * any batch, then each lane of Node with its lane of Rust of the same batch. It also has the gain of batching in Node.
 * The comparisons may be of one kind alone.
 */
export function requestHeadToHeadTable(
  comparisons: readonly Comparison[],
  recordOf: RecordOf,
  margin?: number,
): MarkedTable {
  const pairs = bestFirst(comparisons, recordOf);
  const [rustTitle, nodeTitle] = sideTitles(pairs);
  const won = batchingOf(comparisons);
  const limitOf = ({ comparison }: Pair): string => serverMark(comparison.verdict === 'server-bound');
  return {
    table: tableOf(pairs, [
      { title: 'Benchmark', of: ({ comparison }) => comparison.workload },
      ...laneColumn(pairs),
      { title: '>Connections', of: ({ comparison }) => formatCount(comparison.connections) },
      { title: rustTitle, of: ({ rust }) => nameBatchAndRateOf(rust).replace(/^rust · /, ''), goes: 1 },
      { title: nodeTitle, of: ({ node }) => nameBatchAndRateOf(node) },
      {
        title: '>Rust factor',
        of: (pair) => factorOf(pair.comparison) + marksOfPair(pair) + limitOf(pair) + cpuMark(pair.comparison, margin),
      },
      ...cpuColumn(pairs, ({ comparison }) => comparison, 2),
      { title: '>Batching factor', of: ({ node }) => won(node.id), goes: 0 },
    ]),
    notes: [
      ...factorNotes(
        pairs.map(({ comparison }) => comparison),
        { margin },
      ),
      ...(pairs.some(({ node }) => won(node.id) !== UNKNOWN) ? [BATCHING_NOTE] : []),
      ...notesOf(pairs.map((pair) => marksOfPair(pair) + won(pair.node.id))),
      ...(pairs.some((pair) => limitOf(pair) !== '') ? [SERVER_NOTE] : []),
    ],
  };
}

/** The name of a cell with its batch, if it has one: `napi · KvClient.mget, batch 64`. */
export function nameAndBatchOf(record: CompletedRecord): string {
  return sideAndVariantOf(record) + batchText(record);
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

/** The CPU time of one operation, of the client and of the server. */
function cpuOf(record: CompletedRecord): string {
  const each = (seconds: (sample: Sample) => number | undefined): string | undefined => {
    const median = medianOf(record, seconds);
    return median === undefined ? undefined : formatDuration(median / itemsOf(record));
  };
  const server = each(serverCpuOf);
  return `${each(processCpuOf) ?? UNKNOWN}${server === undefined ? '' : ` + ${server}`}`;
}

/** The connections of a cell, with its processes if there are several: `32 × 2`. */
function connectionsOf({ connections, processes }: CompletedRecord): string {
  return processes === undefined ? formatCount(connections) : `${formatCount(connections)} × ${processes}`;
}

/**
 * Whether the client had no time left: the threads that run JavaScript, or Rust's threads, by the driver, in all
 * processes together. An open loop waits for the time of its next request, so being busy means nothing.
 */
function isClientBound(record: CompletedRecord, logicalCores: number): boolean {
  const { side, rate, driver, connections = 1, processes = 1 } = record;
  if (rate !== undefined) return false;
  const byDefault = side === 'rust' ? Math.ceil(logicalCores / 2) : 1;
  const driving = driver === undefined ? byDefault : driver === 'all-cores' ? logicalCores : 1;
  const busy = medianOf(record, side === 'rust' ? clientShare : mainThreadShare);
  return busy !== undefined && busy >= BUSY * Math.min(processes * Math.min(connections, driving), logicalCores);
}

/** The mark of cells of which the server, or the machine, was the limit of each. */
function serverMark(isBound: boolean): string {
  return isBound ? SERVER_LIMIT : '';
}

/** The reasons why an open loop did not keep its rate or its send times. */
function openLoopNotes(record: CompletedRecord): string[] {
  const { rate, latency, behind } = record;
  if (rate === undefined) return [];
  const name = `${record.workload}, ${nameAndBatchOf(record)}, ${record.connections ?? 1} connections`;
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

/** The parts of a sample's time for which its process, or the thread that runs JavaScript, was busy. */
const clientShare = (sample: Sample): number | undefined => shareOf(processCpuOf(sample), sample);
const mainThreadShare = (sample: Sample): number | undefined => shareOf(sample.mainThreadCpuSeconds, sample);

function shareOf(cpu: number | undefined, { seconds }: Sample): number | undefined {
  return cpu === undefined || seconds === 0 ? undefined : cpu / seconds;
}
