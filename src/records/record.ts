/**
 * The result files' types: what `run.jsonl` and `run.json` hold. `schema/run.schema.json` describes the same for other
 * languages, and `native/suite` writes samples of the same shape.
 *
 * Times are in seconds, latencies in microseconds, sizes in bytes, rates per second.
 */

/** Who does the work. */
export type Side = 'rust' | 'napi' | 'js';

/** The version of the layout of the result files; it changes when a reader of the old one would misread the new one. */
export const SCHEMA_VERSION = 1;

/**
 * What identifies one thing to measure: workload x lane x side x engine and the dimensions that apply to it. A
 * dimension that does not apply is absent.
 */
export interface Cell {
  /** Stable and unique within a run, e.g. `measurements/insert.bulk/staged-row/napi/embedded/w1`. */
  readonly id: string;
  readonly family: string;
  readonly workload: string;
  readonly lane: string;
  readonly side: Side;
  /** How the native code is written or the client is called; the seeds' tables have a column for it. */
  readonly flavor?: 'sync' | 'async';
  /** The words of the tables' Variant column: the API a user would call, e.g. `RowInserter.addRow`. */
  readonly variant: string;
  readonly engine: string;
  readonly transport?: string;
  readonly workers?: number;
  /** Of request work: the operations of one request. */
  readonly batch?: number;
  /** Of request work: the connections, each with one request in flight. */
  readonly threads?: number;
  /** Of an open loop: the requests a second of all threads together that were asked for. */
  readonly rate?: number;
  /** The rows that one sample moves over the boundary. */
  readonly rows: number;
  /** The rows' size by the schema's own widths (24 bytes a row of `measurements`), never by encoding. */
  readonly bytes?: number;
}

/**
 * What was read or written, summed column by column: integers as exact decimal strings, floats as numbers. Text and
 * bytes count their byte lengths; nulls add nothing.
 */
export interface Checksum {
  readonly rows: number;
  readonly sums: Readonly<Record<string, string | number>>;
}

/** One timed execution of a cell. What could not be read on this platform is absent. */
export interface Sample {
  readonly seconds: number;
  /** Where the cell's input is encoded: the time that took, all workers together. Not in `seconds`. */
  readonly encodeSeconds?: number;
  /** Where the cell's result is decoded: the time that took, all workers together. Not in `seconds`. */
  readonly decodeSeconds?: number;
  readonly cpuUserSeconds?: number;
  readonly cpuSystemSeconds?: number;
  /** CPU time of Node's main thread alone, user and system. */
  readonly mainThreadCpuSeconds?: number;
  readonly peakRssBytes?: number;
  /** CPU time of the server's process, where it is on this machine and known. */
  readonly serverCpuUserSeconds?: number;
  readonly serverCpuSystemSeconds?: number;
  readonly gcSeconds?: number;
  /** The longest time the event loop was late for a heartbeat, from the heartbeat's intended time. */
  readonly longestStallMs?: number;
  /** Of request work: the HDR histogram of its latencies in microseconds, V2 compressed, base64. */
  readonly latency?: string;
  /** Of an open loop: the same of how late this process itself sent its requests. */
  readonly behind?: string;
}

export interface Summary {
  readonly medianSeconds: number;
  readonly minSeconds: number;
  readonly maxSeconds: number;
  /** Relative spread: the interquartile range divided by the median. */
  readonly spread: number;
  readonly rowsPerSecond: number;
  readonly mebibytesPerSecond?: number;
}

/** Latencies in microseconds. `histogram` is the whole HDR histogram, V2 compressed, base64. */
export interface Latency {
  readonly p50: number;
  readonly p90: number;
  readonly p95: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
  readonly histogram: string;
}

export interface CompletedRecord extends Cell {
  readonly outcome: 'completed';
  readonly samples: readonly Sample[];
  readonly summary: Summary;
  /** Of request work: the latencies of all samples. In an open loop they count from when a request was meant to be sent. */
  readonly latency?: Latency;
  /** Of an open loop: how late this process itself sent its requests, in all samples. Their delay is not the server's. */
  readonly behind?: Latency;
  readonly checksum: Checksum;
}

export interface FailedRecord extends Cell {
  readonly outcome: 'failed';
  readonly error: { readonly code: string; readonly message: string };
}

export interface SkippedRecord extends Cell {
  readonly outcome: 'skipped';
  readonly reason: string;
}

/** A cell and how it ended. */
export type RunRecord = CompletedRecord | FailedRecord | SkippedRecord;

/** `no difference` when the ratio's interval contains 1. */
export type Verdict = 'faster' | 'slower' | 'no difference';

/**
 * How much faster the numerator is than the denominator: the ratio of their rows per second, with its 95% bootstrap
 * interval.
 */
export interface Comparison {
  readonly workload: string;
  readonly lane: string;
  readonly engine: string;
  readonly transport?: string;
  readonly workers?: number;
  readonly threads?: number;
  /** The operations of one request of the numerator; of a pair of the kind `best`, its cells tell. */
  readonly batch?: number;
  /**
   * What kind of pair: the same lane on two sides, the best of each side, a batch over single operations on one side, or
   * one cell against itself.
   */
  readonly kind: 'lane' | 'best' | 'batching' | 'noise-floor';
  /** Cell ids. */
  readonly numerator: string;
  readonly denominator: string;
  readonly ratio: number;
  readonly low: number;
  readonly high: number;
  readonly verdict: Verdict;
}

export interface HostContext {
  readonly os: string;
  readonly arch: string;
  readonly cpu: string;
  readonly physicalCores?: number;
  readonly logicalCores: number;
  readonly governor?: string;
  readonly memoryBytes: number;
  /** Limits of the control group this process runs in, where it has any. */
  readonly cgroup?: { readonly cpus?: number; readonly memoryBytes?: number };
}

/** How long calls took that only go there and back, in microseconds. */
export interface RoundTrip {
  readonly p50: number;
  readonly p99: number;
}

/** A network that was simulated between this process and its servers. */
export interface SimulatedNetwork {
  /** A proxy before each server, or the kernel in a network namespace for each. */
  readonly by: 'proxy' | 'kernel';
  /** What was asked for: how much later everything arrives in each direction. */
  readonly delayUs: number;
  /** The same of the megabits a second in each direction; absent: as many as there are. */
  readonly megabits?: number;
  /** What was measured before the network was slowed down, and then. */
  readonly plain: RoundTrip;
  readonly delayed: RoundTrip;
}

export interface RunContext {
  /** ISO 8601, UTC. */
  readonly startedAt: string;
  readonly host: HostContext;
  /** `node`, `v8`, `rustc`, `boundary-bench`, `duckdb`, and the clients used. */
  readonly versions: Readonly<Record<string, string>>;
  readonly build: { readonly profile: string; readonly targetCpu: string; readonly addonSha256: string };
  readonly git?: { readonly commit: string; readonly dirty: boolean };
  /** By engine; of a run that was resumed, as measured at last. */
  readonly networks?: Readonly<Record<string, SimulatedNetwork>>;
  /** The options of the run as the user gave them, with the defaults filled in. */
  readonly config: Readonly<Record<string, unknown>>;
}

/** The whole of `run.json`. */
export interface Run {
  readonly schemaVersion: typeof SCHEMA_VERSION;
  readonly context: RunContext;
  readonly records: readonly RunRecord[];
  readonly comparisons: readonly Comparison[];
}
