/**
 * The types of the result files `run.jsonl` and `run.json`. `schema/run.schema.json` describes the same, and files that
 * are read are checked by it. A test compares the two. `native/suite` writes samples of the same shape.
 *
 * Times are in seconds, latencies in nanoseconds, sizes in bytes, rates per second.
 */

import { basename } from 'node:path';
import type { HostContext } from './host.js';

/** The software that does the work. */
export type Side = 'rust' | 'napi' | 'js';

/** The driver of the connections of a cell in Rust: the thread that runs the load, or a thread for each core. */
export const DRIVERS = ['one-thread', 'all-cores'] as const;

export type Driver = (typeof DRIVERS)[number];

/** The version of the layout of the result files. It changes when a reader of the old layout would misread the new one. */
export const SCHEMA_VERSION = 4;

/** The contents that cross the boundary in one call. The cost model explains the time of the call by them. */
export interface Crossing {
  /** The kind of what crosses. Bytes are an array of bytes, a text is one string, and rows are objects or their columns. */
  readonly what: 'bytes' | 'text' | 'rows';
  /** Whether it goes into the other side, or comes out of it. */
  readonly direction: 'in' | 'out';
  readonly rows: number;
  /** The numbers of all rows. */
  readonly numbers: number;
  /** The texts of all rows. For a single text, 1. */
  readonly texts: number;
  /** The bytes of values whose length varies: of texts, of one byte a character, and of arrays of bytes. */
  readonly bytes: number;
  /** The client that it goes through, such as `napi-rs` or `worker`. Absent: none, since it stays in one language and thread. */
  readonly client?: string;
  /** Whether the cost model is compared with the cell, and not fitted to it. */
  readonly isHeldOut?: boolean;
}

/**
 * The identity of one thing to measure: workload x lane x side x engine and the dimensions that apply to it. A
 * dimension that does not apply is absent.
 */
export interface Cell {
  /** The id, stable and unique within a run, e.g. `measurements/insert.bulk/staged-row/napi/embedded/w1`. */
  readonly id: string;
  readonly family: string;
  readonly workload: string;
  readonly lane: string;
  readonly side: Side;
  /** How the native code is written or the client is called, a column of the seeds' tables. */
  readonly flavor?: 'sync' | 'async';
  /** The text of the tables' Variant column: the API that a user would call, e.g. `RowInserter.addRow`. */
  readonly variant: string;
  readonly engine: string;
  readonly transport?: string;
  readonly workers?: number;
  /** For request work: the operations of one request. */
  readonly batch?: number;
  /** For request work: the connections, each with one request in flight. */
  readonly connections?: number;
  /**
   * For request work: the driver of the connections. Absent: threads for half of the cores in Rust, one thread in Node.
   * `all-cores` is a thread for each core, in Node worker threads that share the connections.
   */
  readonly driver?: Driver;
  /** For request work: the processes that send requests at once, each over `connections` connections. Absent: one. */
  readonly processes?: number;
  /** For request work: the requests of one execution, if they are not one for each `batch` of `operations`. */
  readonly requests?: number;
  /** The runtime, if it is not the runtime of the run: a name such as `node@22`, or a path. */
  readonly runtime?: string;
  /** For an open loop: the requested rate, in requests per second of all connections together. */
  readonly rate?: number;
  /** The size of the input, of a user's own workload that has several. */
  readonly size?: number;
  /** The rows that one sample moves over the boundary. Absent for work that is counted in operations, calls or items. */
  readonly rows?: number;
  /** For request work: the operations of one sample, of all connections and processes together. */
  readonly operations?: number;
  /** The bytes of the rows by the widths of the schema (24 bytes per row of `measurements`), never by encoding. */
  readonly bytes?: number;
  /** The queries of one sample, if the rate counts them because few rows come out, no matter how much is read. */
  readonly queries?: number;
  /** The calls of one sample, if the rate counts them because the work is to cross, or is a function of the user's. */
  readonly calls?: number;
  /** The items that one sample of a user's own function works on. */
  readonly items?: number;
  /** The contents that cross in one call, if the cost model is fitted to the cell or compared with it. */
  readonly crossing?: Crossing;
}

/** A cell whose work is counted in rows. */
export type RowCell = Cell & { readonly rows: number };

/** The part of a cell that counts its work. */
export type Counted = Pick<Cell, 'rows' | 'operations' | 'calls' | 'items'>;

/** The number of things that one sample of a cell works on: its items, rows, operations or calls. */
export function itemsOf({ items, rows, operations, calls }: Counted): number {
  return items ?? rows ?? operations ?? calls ?? 0;
}

/** The word for what `itemsOf` counts. */
export function unitOf({ items, rows, operations }: Counted): 'items' | 'rows' | 'operations' | 'calls' {
  if (items !== undefined) return 'items';
  if (rows !== undefined) return 'rows';
  return operations === undefined ? 'calls' : 'operations';
}

/**
 * The sums of the rows read or written, column by column: integers as exact decimal strings, floats as numbers. Text
 * and bytes count their byte lengths. Nulls add nothing.
 */
export interface Checksum {
  readonly rows: number;
  readonly sums: Readonly<Record<string, string | number>>;
}

/** One measurement of a cell. Figures that could not be read on this platform are absent. */
export interface Sample {
  /** The number of the process that took it, from 1. Absent if it was taken in the process of the run. */
  readonly fork?: number;
  /**
   * The number of the block of the run, from 1, in which it was taken: samples of one block were taken in turn, one
   * right after the other. Absent in runs whose processes took no turns.
   */
  readonly block?: number;
  /** How often it was taken before, and thrown away because other programs disturbed it. Absent: never. */
  readonly retaken?: number;
  /** The CPU time that the hypervisor gave to other machines while the whole sample was taken: all of its executions. */
  readonly stolenSeconds?: number;
  /**
   * The number of executions of the work, one after the other, since a single one took too short a time. Absent: 1. The
   * times are per execution, on average.
   */
  readonly executions?: number;
  readonly seconds: number;
  /** The time of encoding the cell's input, of all workers together, not included in `seconds`. Absent if nothing is encoded. */
  readonly encodeSeconds?: number;
  /** The time of decoding the cell's result, of all workers together, not included in `seconds`. Absent if nothing is decoded. */
  readonly decodeSeconds?: number;
  readonly cpuUserSeconds?: number;
  readonly cpuSystemSeconds?: number;
  /** The CPU time of user and system together, which compact files have instead of the two. */
  readonly cpuSeconds?: number;
  /**
   * The CPU time of Node's main thread only, user and system. For request work: of all threads, or processes, that sent
   * the requests.
   */
  readonly mainThreadCpuSeconds?: number;
  /** For an open loop of Node: the part of `mainThreadCpuSeconds` in which the threads turned without work until a request was due. */
  readonly idleSeconds?: number;
  /**
   * The minor page faults of the whole process in the timed work: the first touches of memory, most of them. Per
   * execution, on average.
   */
  readonly minorFaults?: number;
  /**
   * The threads of the process that worked: those that ran for 5 % of the timed work at least. Absent for a sample that
   * is too short to tell, and elsewhere than on Linux.
   */
  readonly threads?: number;
  readonly peakRssBytes?: number;
  /** The CPU time of the server's process, if it is on this machine and known. */
  readonly serverCpuUserSeconds?: number;
  readonly serverCpuSystemSeconds?: number;
  readonly gcSeconds?: number;
  /** The bytes by which V8's heap grows in one call, if the work is to cross. */
  readonly heapBytesPerCall?: number;
  /** The longest delay of the event loop's heartbeat, from the heartbeat's intended time. */
  readonly longestStallMs?: number;
  /** For request work: the HDR histogram of the latencies in nanoseconds, V2 compressed, base64. */
  readonly latency?: string;
  /** For an open loop: the histogram, in the same form, of the delays with which this process sent its requests. */
  readonly behind?: string;
}

/**
 * A rate of one of these. Queries: few rows come out, no matter how much is read. Calls: nothing else is done.
 * Operations: of requests. Otherwise rows.
 */
export interface Rates {
  readonly rowsPerSecond?: number;
  readonly operationsPerSecond?: number;
  readonly mebibytesPerSecond?: number;
  readonly queriesPerSecond?: number;
  readonly callsPerSecond?: number;
}

export interface Summary extends Rates {
  /** The geometric mean of the medians of the processes. Files of earlier versions have the median of all samples. */
  readonly medianSeconds: number;
  readonly minSeconds: number;
  readonly maxSeconds: number;
  /** Relative spread: the interquartile range divided by the median. */
  readonly spread: number;
}

/** The ends of an interval of latencies, in nanoseconds. */
export interface LatencyInterval {
  readonly low: number;
  readonly high: number;
}

/** The 95% intervals of percentiles, by the processes that measured them. */
export interface LatencyIntervals {
  readonly p50: LatencyInterval;
  readonly p99: LatencyInterval;
}

/** Latencies in nanoseconds. `histogram` is the whole HDR histogram, V2 compressed, base64. The committed results leave it out. */
export interface Latency {
  readonly p50: number;
  readonly p90: number;
  readonly p95: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
  readonly histogram?: string;
  /** The intervals, in compact files, whose samples have no histograms to make them from. */
  readonly intervals?: LatencyIntervals;
}

/**
 * Why a cell decides nothing. Its samples can't be made long enough, it still gets faster when warming up ends, or its
 * calls take no longer than the loop around them. A comparison also decides nothing if one process measured a side:
 * processes differ by more than samples do, and one says nothing of that.
 */
export type NoVerdict = 'too-short' | 'still-warming-up' | 'nothing-to-measure' | 'one-process';

/** A cell that did its work, with its samples and their summary. */
export interface CompletedRecord extends Cell {
  readonly outcome: 'completed';
  readonly samples: readonly Sample[];
  readonly summary: Summary;
  /** For request work: the latencies of all samples. In an open loop, they count from the intended send time. */
  readonly latency?: Latency;
  /** For an open loop: the delays with which this process sent its requests, in all samples. They are not the server's. */
  readonly behind?: Latency;
  readonly checksum: Checksum;
  /** Of a compact file: the lane on the side `rust` that it is compared with. Absent: none, or the run's comparisons tell it. */
  readonly rustLane?: string;
  /** Why comparisons with it get no verdict. Absent: they do. */
  readonly noVerdict?: NoVerdict;
}

export interface FailedRecord extends Cell {
  readonly outcome: 'failed';
  readonly error: { readonly code: string; readonly message: string };
}

export interface SkippedRecord extends Cell {
  readonly outcome: 'skipped';
  readonly reason: string;
  /** Whether the server had ended during the run: a resumed run measures the cell then. */
  readonly serverEnded?: boolean;
}

/** A cell with its outcome. */
export type RunRecord = CompletedRecord | FailedRecord | SkippedRecord;

/**
 * The verdict of a comparison: `equivalent` if all of the ratio's interval is within the margin of 1, `inconclusive` if
 * the interval contains 1 and goes beyond the margin. `server-bound` if the server was busy all the time in both cells,
 * or kept all cores busy together with the client: the ratio then says nothing about the clients.
 */
export type Verdict = 'faster' | 'slower' | 'equivalent' | 'inconclusive' | 'server-bound';

/** A ratio with the ends of its interval. */
export interface RatioInterval {
  readonly ratio: number;
  readonly low: number;
  readonly high: number;
}

/** The comparison of two cells: the ratio of the numerator's rows per second to the denominator's, with its interval. */
export interface Comparison extends RatioInterval {
  readonly workload: string;
  readonly lane: string;
  readonly engine: string;
  readonly transport?: string;
  readonly workers?: number;
  readonly connections?: number;
  /** The operations of one request of the numerator. Absent for the kind `best`, whose cells have them. */
  readonly batch?: number;
  /**
   * The kind of pair, in this order: the same lane on two sides, the best of each side, a cell and its rival (as in the
   * user's own workloads), a batch over single operations on one side, or one cell against itself.
   */
  readonly kind: 'lane' | 'best' | 'rival' | 'batching' | 'noise-floor';
  /** The ids of the two cells. */
  readonly numerator: string;
  readonly denominator: string;
  /** If there was a choice of cells: the number of processes on which the ratio rests, of the side that has fewer. */
  readonly forks?: number;
  readonly verdict: Verdict;
  /**
   * The ratio of the numerator's rows per second of CPU time to the denominator's, of all threads of their processes.
   * Above 1 the numerator takes less. Absent if the CPU time is not known.
   */
  readonly cpu?: RatioInterval;
  /** Why the verdict stays `inconclusive`, by one of the two cells. Absent: the interval decides. */
  readonly noVerdict?: NoVerdict;
}

/** The times of calls of one row, in nanoseconds. Each is the time of a round trip. */
export interface RoundTrip {
  readonly p50: number;
  readonly p99: number;
}

/** A network simulated between this process and its servers. */
export interface SimulatedNetwork {
  /** The simulator of the network: a proxy in front of each server, or the kernel in a network namespace per server. */
  readonly by: 'proxy' | 'kernel';
  /** The requested delay in each direction, in microseconds. */
  readonly delayUs: number;
  /** The requested bandwidth in each direction, in megabits per second. Absent: unlimited. */
  readonly megabits?: number;
  /** The measured round trips before the network was slowed down, and after. */
  readonly plain: RoundTrip;
  readonly delayed: RoundTrip;
}

/** The binaries of a run. Hashes of binaries that are not there are absent, as in files of older versions. */
export interface RunBuild {
  readonly profile: string;
  readonly targetCpu: string;
  /** The addon of the library, or `not built`. */
  readonly addonSha256: string;
  /** The addon of crossings. */
  readonly crossingSha256?: string;
  /** The program of the side `rust`. */
  readonly nativeSha256?: string;
}

export interface RunContext {
  /** The start of the run, ISO 8601, UTC. */
  readonly startedAt: string;
  /** The wall time of the run. For a resumed run, of all parts that ended by themselves. Absent in files of earlier versions. */
  readonly seconds?: number;
  readonly host: HostContext;
  /** The versions of `node`, `v8`, `rustc`, `boundary-bench`, `duckdb`, and the clients used. */
  readonly versions: Readonly<Record<string, string>>;
  readonly build: RunBuild;
  readonly git?: { readonly commit: string; readonly dirty: boolean };
  /** The seconds of a small loop of fixed work before the first sample, by which runs of two times tell how the machine changed. */
  readonly loopSeconds?: number;
  /** The simulated networks by engine. For a resumed run, as measured last. */
  readonly networks?: Readonly<Record<string, SimulatedNetwork>>;
  /** The differences in what cells did, a clause each, by the engine whose server has a part of its dialect only. */
  readonly adaptations?: Readonly<Record<string, readonly string[]>>;
  /** The absolute paths of the files with the user's own workloads. Absent: the run measured families of this package. */
  readonly files?: readonly string[];
  /** The options of the run as the user gave them, with the defaults filled in. */
  readonly config: Readonly<Record<string, unknown>>;
}

/** The unit that a cost is paid for: each call, row, number, text, or byte of a value whose length varies. */
export const PIECES = ['call', 'row', 'number', 'text', 'byte'] as const;

export type Piece = (typeof PIECES)[number];

/** A way to cross the boundary in one direction. It has costs of its own. */
export interface Mechanism {
  readonly what: Crossing['what'];
  readonly direction: Crossing['direction'];
  readonly side: Side;
  readonly lane: string;
  readonly variant: string;
  /** The client that it goes through. Absent: none, so that the mechanism is the floor of others. */
  readonly client?: string;
  /** The calls in flight at once, of lanes that return promises. */
  readonly batch?: number;
}

/** The seconds of one piece, with the ends of their 95% bootstrap interval. */
export interface Cost {
  readonly of: Piece;
  /** The rows, or the bytes, beyond which a call costs this more. Absent: the cost is of every piece. */
  readonly after?: number;
  readonly seconds: number;
  readonly low: number;
  readonly high: number;
}

/** A size of a call beyond which what is carried costs more, or less: memory falls out of a cache, say, or is collected. */
export interface Knee {
  /** The rows, or the bytes, of a call. */
  readonly after: number;
  /** How many times as much a further row costs, with all that is in it, or a further byte. */
  readonly factor: number;
}

/** A cell to which costs were fitted, or with which they are compared. */
export interface ModelledCell {
  /** The id of the cell. */
  readonly id: string;
  /** The seconds of a call in the median sample. */
  readonly measured: number;
  /** The seconds of a call by the costs. */
  readonly predicted: number;
  /**
   * The ends of the 95% interval in which the costs expect the measurement of a cell that was not fitted. Absent in
   * files of earlier versions.
   */
  readonly low?: number;
  readonly high?: number;
}

/** The costs of a mechanism: the time of a call is the sum of its pieces times their costs. */
export interface MechanismCosts extends Mechanism {
  readonly costs: readonly Cost[];
  /** The sizes at which costs change, ascending. Each factor is to the costs as they stand. */
  readonly knees: readonly Knee[];
  /** The covariance of the costs in square seconds, by the bootstrap: a list for each cost, in their order. */
  readonly covariance: readonly (readonly number[])[];
  /**
   * The pieces whose cost cannot be separated, since their number was always in proportion to pieces of other costs.
   * Each has its number per piece of each cost, in the order of the costs. Their cost is included in those other costs.
   */
  readonly inseparable: Readonly<Partial<Record<Piece, readonly number[]>>>;
  /** The most pieces of a call to which costs were fitted, and for `perRow` the most of a row. */
  readonly most: Readonly<Record<Piece, number>>;
  readonly mostPerRow: Readonly<Record<Piece, number>>;
  /** The standard deviation of measured from predicted times, as a part of them, and its degrees of freedom. */
  readonly deviation: number;
  readonly degrees: number;
  /** The largest distance of a fitted time from the measured one, as a part of it. */
  readonly worst: number;
  /** The same for costs without knees and jumps, if there are some. */
  readonly worstStraight?: number;
  readonly fitted: readonly ModelledCell[];
  readonly heldOut: readonly ModelledCell[];
}

/** A mechanism that was measured, but has no costs. */
export interface UnfittedMechanism extends Mechanism {
  readonly reason: string;
}

/** The costs of crossing on the machine of a run, by mechanism. */
export interface CostModel {
  readonly mechanisms: readonly MechanismCosts[];
  readonly unfitted: readonly UnfittedMechanism[];
}

/** The content of `run.json`. */
export interface Run {
  readonly schemaVersion: typeof SCHEMA_VERSION;
  readonly context: RunContext;
  readonly records: readonly RunRecord[];
  readonly comparisons: readonly Comparison[];
  /** The cost model, if cells were measured that it can be fitted to. */
  readonly model?: CostModel;
  /** The profiles of cells, if they were asked for. */
  readonly profiles?: readonly Profile[];
}

/** The files of a profiled cell, by their paths in the folder of the run. */
export interface Profile {
  /** The id of the cell. */
  readonly id: string;
  /** A picture of the calls and their time. */
  readonly flameGraph: string;
  /** The profile that V8 made, for its developer tools; absent for a cell in Rust. */
  readonly cpuProfile?: string;
}

/** The engine of twins of ways. They do no work, and compete with nothing. */
export const NOOP = 'noop';

/** The lane of the twin of a way. */
export function noopLaneOf(lane: string): string {
  return `${lane}-noop`;
}

/** The digits of a hash that tell one from another. */
const DIGITS = 12;

/** A commit as texts have it: `22358848f974`, or `22358848f974 with changes`. */
export function commitText({ commit, dirty }: NonNullable<RunContext['git']>): string {
  return `${shortHash(commit)}${dirty ? ' with changes' : ''}`;
}

/** The first digits of a hash. */
export function shortHash(hash: string): string {
  return hash.slice(0, DIGITS);
}

/** The file in a value of the option, `side:file`. */
export function clientFile(given: string): string {
  return given.slice(given.indexOf(':') + 1);
}

/** The name of a client in cells: the file's name without its ending. */
export function clientName(given: string): string {
  return basename(clientFile(given)).replace(/\.[^.]*$/, '');
}
