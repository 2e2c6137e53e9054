import type { Cell, Checksum, SimulatedNetwork } from '../records/record.js';
import type { OptionTable } from './option.js';

/** What is done to bytes before they cross, or after: timed apart from the crossing. */
export type CodecWork = 'encode' | 'decode';

/** The times of one execution, where the side that does the work measured them itself. */
export interface NativeTiming {
  readonly seconds: number;
  /** Not in `seconds`. */
  readonly encodeSeconds?: number;
  /** Not in `seconds`. */
  readonly decodeSeconds?: number;
  readonly cpuUserSeconds?: number;
  readonly cpuSystemSeconds?: number;
}

/** What a sample of request work measures beside its time. */
export interface RequestMeasures {
  /** The HDR histogram of the latencies in microseconds, V2 compressed, base64. */
  readonly latency?: string;
  /** Of an open loop: the same of how late this process itself sent its requests. */
  readonly behind?: string;
  /** CPU time of the server's process meanwhile. */
  readonly serverCpuUserSeconds?: number;
  readonly serverCpuSystemSeconds?: number;
}

/**
 * Brackets the work that a sample times. It may be started and stopped several times within one sample: only the time
 * between a start and the next stop counts, and only that time's CPU and garbage collection.
 */
export interface Stopwatch {
  start(): void;
  stop(): void;
  /** Times encoding or decoding, as a figure of its own. Only while the stopwatch is stopped. */
  apart<T>(work: CodecWork, execute: () => T): T;
  /** For work that was timed elsewhere (in Rust): counts it as if this stopwatch had run for it. */
  add(timing: NativeTiming): void;
  /** Keeps the latencies of a sample of request work. Once a sample. */
  addRequests(measures: RequestMeasures): void;
}

/** One cell, opened: the runner takes its warm-up runs and samples from it, then closes it. */
export interface OpenCell {
  /** What every sample must return; a sample that returns anything else makes the cell `failed`. */
  readonly expected: Checksum;
  /**
   * One execution of the cell's work. Times its lane's work alone with the stopwatch, consumes or verifies every value
   * (untimed where the lane is a writer), and returns what it read or, for a writer, what the engine now holds.
   */
  sample(stopwatch: Stopwatch, signal: AbortSignal): Promise<Checksum>;
  close(): Promise<void>;
}

/** A cell of the expanded matrix, with what the runner needs to know besides its identity. */
export interface PlannedCell {
  readonly cell: Cell;
  /** Cells of one group are interleaved sample by sample: the sides and lanes of one workload on one engine. */
  readonly group: string;
  /** The lane on the `rust` side that this cell is compared with; absent on the `rust` side. */
  readonly rustLane?: string;
  /** Why the cell can't run here, where that is known before it is opened. */
  readonly skip?: string;
}

/** What a run asks of any family. */
export interface FamilyOptions {
  readonly rows: number;
  /** How many workers the cells of more than one worker have. */
  readonly workers: number;
  /** Engine URIs by engine name, e.g. `embedded` -> `embedded:/tmp/bench.duckdb`; absent: the engine's default. */
  readonly engines: Readonly<Record<string, string>>;
  /** Whether to plan the optional clients, too: those that are no dependencies of this package. */
  readonly peers?: boolean | undefined;
  /** The keys that requests carry, by the engine that they are for, where its URI holds none. */
  readonly apiKeys?: Readonly<Record<string, string>> | undefined;
}

/** A group of workloads over one schema. `Own` are the values of the options that it declares. */
export interface Family<Own = object> {
  readonly name: string;
  /** The sentence `boundary-bench list` shows. */
  readonly description: string;
  /** The number of rows where the user names none. */
  readonly defaultRows: number;
  /** Whether it is measured only where it is asked for: by its name, or by a word that names nothing in the other families. */
  readonly onlyIfNamed?: boolean;
  /** Whether `rows` are of no meaning to it: it has operations. */
  readonly hasOperations?: boolean;
  /** The options that it takes beside `FamilyOptions`. */
  readonly options?: OptionTable;
  /** Every cell of the family, before filters. */
  plan(options: FamilyOptions & Partial<Own>): readonly PlannedCell[];
  /** Prepares whatever the cells of a run, `cells`, share: engines, loaded tables. Untimed. */
  open(options: FamilyOptions & Partial<Own>, cells: readonly PlannedCell[]): Promise<OpenFamily>;
}

/** A family, opened for one run. */
export interface OpenFamily {
  /** Versions of the engines and clients in use, for the run's context. */
  versions(): Promise<Readonly<Record<string, string>>>;
  /** The networks that are simulated, by the engine before which they are; absent: none. */
  networks?(): Promise<Readonly<Record<string, SimulatedNetwork>>>;
  /** Opens a cell; a family prepares here, untimed, what this cell needs. */
  openCell(planned: PlannedCell): Promise<OpenCell>;
  close(): Promise<void>;
}
