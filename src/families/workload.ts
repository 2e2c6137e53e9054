import type { Cell, Checksum, SimulatedNetwork } from '../records/record.js';
import type { OptionTable } from './option.js';
import type { WebAbortSignal } from '../platform-types.js';

/** Work on bytes before or after they cross, timed separately from the crossing. */
export type CodecWork = 'encode' | 'decode';

/** The times of one execution, measured by the side that did the work. */
export interface NativeTiming {
  readonly seconds: number;
  /** The time of encoding, not included in `seconds`. */
  readonly encodeSeconds?: number;
  /** The time of decoding, not included in `seconds`. */
  readonly decodeSeconds?: number;
  readonly cpuUserSeconds?: number;
  readonly cpuSystemSeconds?: number;
  /** The minor page faults of the whole process in that time. */
  readonly minorFaults?: number;
  /** The peak of the memory of the process that did the work, in bytes, if that is another process. */
  readonly peakRssBytes?: number;
  /** The threads of the process that worked in that time. See `WORKING_SHARE`. */
  readonly threads?: number;
  /** The CPU time of the threads that run JavaScript, if these have done the work. */
  readonly mainThreadCpuSeconds?: number;
}

/** The measurements of a sample of request work, beside its time. */
export interface RequestMeasures {
  /** The HDR histogram of the latencies in nanoseconds, V2 compressed, base64. */
  readonly latency?: string;
  /** For an open loop: the histogram, in the same form, of the delays with which this process sent its requests. */
  readonly behind?: string;
  /** For an open loop of Node: the CPU time in which its threads turned without work until a request was due. */
  readonly idleSeconds?: number;
  /** The CPU time of the server's processes during the sample. */
  readonly serverCpuUserSeconds?: number;
  readonly serverCpuSystemSeconds?: number;
}

/**
 * Brackets the work that a sample times. It may be started and stopped several times within one sample. Only the time
 * between a start and the next stop counts, with the CPU time and garbage collection in it.
 */
export interface Stopwatch {
  /** Resolves when a prepared sample may begin, together with the samples of other processes or threads; absent: at once. */
  ready?(): Promise<void>;
  /**
   * Resolves when the timed work of other processes or threads has ended as well, so that what a sample checks
   * afterwards takes no time of theirs; absent: at once.
   */
  ended?(): Promise<void>;
  /** Begins to time. It must not be running. */
  start(): void;
  /** Ends what `start` began. */
  stop(): void;
  /** Times encoding or decoding, as a separate figure. Only while the stopwatch is stopped. */
  apart<T>(work: CodecWork, execute: () => T): T;
  /** Adds work that was timed elsewhere (in Rust), as if this stopwatch had run for it. */
  add(timing: NativeTiming): void;
  /** Keeps the latencies of a sample of request work. Called once per sample. */
  addRequests(measures: RequestMeasures): void;
  /** Keeps the bytes by which V8's heap grows in one call, counted apart from the timed work. Called once per sample. */
  addHeapBytes(bytesPerCall: number): void;
}

/** One open cell: the runner takes its warm-up runs and samples from it, then closes it. */
export interface OpenCell {
  /** The checksum that every sample must return. Another checksum makes the cell `failed`. */
  readonly expected: Checksum;
  /** Whether a sample can repeat its work within the timed span; absent: it can't. */
  readonly repeats?: boolean;
  /**
   * Executes the cell's work once. Times only the lane's work with the stopwatch, and consumes or verifies every value (untimed if
   * the lane is a writer). Returns the checksum of the values read or, for a writer, of the rows that the engine now holds.
   *
   * With `repeats`, which is given only to a cell that says that it repeats, the work is done that many times within
   * one timed span. The time covers all executions, and the checksum is of one execution. If an execution disagrees
   * with the first, its checksum is returned.
   */
  sample(stopwatch: Stopwatch, signal: WebAbortSignal, repeats?: number): Promise<Checksum>;
  /**
   * Executes the cell's work once more and checks each row or answer by itself: a checksum does not show that two of
   * them have exchanged values. Not measured, and called once, after the samples, so that it changes none of them.
   * Throws a `BoundaryError` for the first that is wrong.
   */
  verify?(stopwatch: Stopwatch, signal: WebAbortSignal): Promise<void>;
  /** Gives back what the cell opened. Not timed. */
  close(): Promise<void>;
}

/**
 * The things that a request names to get cells that a usual run leaves out: an engine, a workload, a lane, numbers of
 * workers, or all cells.
 */
export type AskedBy = 'engine' | 'workload' | 'lane' | 'workers' | 'all';

/** The runs that a lane is in: also quick ones, or only runs that name it; absent: usual ones. */
export type LaneRuns = 'quick' | 'named';

/** A JavaScript runtime that a process is started with. */
export interface Runtime {
  /** The path of its program. */
  readonly program: string;
  /** The arguments before the script on its command line. */
  readonly args: readonly string[];
}

/** A build of an addon. */
export interface AddonBuild {
  /** The real paths of the files in whose place it is loaded. */
  readonly replaces: readonly string[];
  /** Whether it is loaded also instead of the only addon of the user's that is loaded, whatever its path; absent: it is not. */
  readonly isOnly?: boolean;
  /** The path of its file. */
  readonly file: string;
}

/** A cell of the expanded matrix, with what the runner needs to know besides its identity. */
export interface PlannedCell {
  readonly cell: Cell;
  /** Cells of one group take turns, process by process: the sides and lanes of one workload on one engine. */
  readonly group: string;
  /** The client library that does the work, by its name in the matrix; absent: what the side and the engine have themselves. */
  readonly client?: string;
  /** The lane on the `rust` side that this cell is compared with; absent on the `rust` side. */
  readonly rustLane?: string;
  /** The build of an addon that its process loads instead of others; absent: the builds that the program itself loads. */
  readonly build?: AddonBuild;
  /** The id of another cell that this one is compared with: the same work by another way, or by another build; absent: none. */
  readonly rival?: string;
  /** The things that must all be named for the cell to be measured without `all`; absent: none. */
  readonly askedBy?: readonly AskedBy[];
  /** Whether a quick run measures it, too. It measures all usual cells of a family that marks none. */
  readonly isQuick?: boolean;
  /** Whether it is the fastest way of its client to do its work, as far as that is known before it is measured; absent: it is not. */
  readonly isFastest?: boolean;
  /** The number of connections that it holds open to its server; absent: not known. */
  readonly connectionsHeld?: number;
  /** Whether a server does a part of the work, so that other programs than this one are no disturbance; absent: it does not. */
  readonly usesServer?: boolean;
  /** Whether no other process can hold open what the cell does, such as a database in a file; absent: others can. */
  readonly isExclusive?: boolean;
  /** Whether another program does the work, which no profiler of the cell's process sees; absent: its process does it. */
  readonly isElsewhere?: boolean;
  /** The reason why the cell can't run here, if it is known before it is opened. */
  readonly skip?: string;
  /** The runtime that measures it, if it is not the runtime of the run. */
  readonly runtime?: Runtime;
}

/** State that the processes of a run share. */
export interface Shared {
  /** The engines whose tables all processes read: they are loaded if they are missing, and kept. */
  readonly tables?: readonly string[];
  /** The servers that run, by the kind of each. */
  readonly servers?: Readonly<Record<string, SharedServer>>;
}

/** A server that runs, at the URI of its engine. */
export interface SharedServer {
  /** Whether the run has started it. */
  readonly isPrivate: boolean;
  /** The ids of its processes, if they are known and on this machine. */
  readonly processIds: readonly number[];
  /** The beginning of all names that the run makes on it; absent: it makes none. */
  readonly namePrefix?: string;
}

/** The options of a run that apply to any family. */
export interface FamilyOptions {
  readonly rows: number;
  /** The number of workers of cells with more than one worker. */
  readonly workers: number;
  /** Engine URIs by engine name, e.g. `embedded` -> `embedded:/tmp/bench.duckdb`; absent: the engine's default. */
  readonly engines: Readonly<Record<string, string>>;
  /** Whether to plan the optional clients, too: those that are no dependencies of this package. */
  readonly peers?: boolean | undefined;
  /** State that another process of the run has opened before, and closes afterwards; absent in the first process. */
  readonly shared?: Shared | undefined;
  /** The keys that requests carry, by the engine that they are for, if its URI holds none. */
  readonly apiKeys?: Readonly<Record<string, string>> | undefined;
}

/** A group of workloads over one schema. `Own` are the values of the options that it declares. */
export interface Family<Own = object> {
  readonly name: string;
  /**
   * The URL of a module that exports this family, by which each cell is measured in processes of its own. Absent: all
   * cells are measured in the process of the run, in which they change each other.
   */
  readonly module?: string;
  /** Its only workload, if its module may export other families of its name; absent: it exports none. */
  readonly onlyWorkload?: string;
  /** The sentence `boundary-bench list` shows. */
  readonly description: string;
  /** The default number of rows. */
  readonly defaultRows: number;
  /** The default of a quick run, if it is another. */
  readonly quickRows?: number;
  /** Whether the family is measured only if asked for: by its name, or by a word that names nothing in other families. */
  readonly onlyIfNamed?: boolean;
  /** Whether the family has operations, to which `rows` do not apply. */
  readonly hasOperations?: boolean;
  /** The options that it takes beside `FamilyOptions`. */
  readonly options?: OptionTable;
  /** Every cell of the family, before filters. */
  plan(options: FamilyOptions & Partial<Own>): readonly PlannedCell[];
  /**
   * Connects once to each server and database that the user names and these cells use, so that a wrong URL or password
   * ends the run before anything is measured. Throws the error of the first that can't be used.
   */
  reach?(options: FamilyOptions & Partial<Own>, cells: readonly PlannedCell[]): Promise<void>;
  /** Prepares the state that the cells of a run, `cells`, share: engines and loaded tables. Untimed. */
  open(options: FamilyOptions & Partial<Own>, cells: readonly PlannedCell[]): Promise<OpenFamily>;
}

/** A family, opened for one run. */
export interface OpenFamily {
  /** Versions of the engines and clients in use, for the run's context. */
  versions(): Promise<Readonly<Record<string, string>>>;
  /** The simulated networks, by the engine in front of which they are; absent: none. */
  networks?(): Promise<Readonly<Record<string, SimulatedNetwork>>>;
  /**
   * The things that cells do differently, one clause each, by the engine whose server has only a part of its dialect; absent: none.
   */
  adaptations?(): Promise<Readonly<Record<string, readonly string[]>>>;
  /** The connections that all cells together may hold open, by the engine whose server tells it; absent: no server does. */
  mostConnections?(): Promise<Readonly<Record<string, number>>>;
  /**
   * The options with which another process opens the family over the servers that this one has started, as far as they
   * differ from its own options. Called before each such process. Throws if a server has ended.
   */
  shared?(): Promise<Partial<FamilyOptions>>;
  /** Opens a cell, and prepares the data it needs, untimed. */
  openCell(planned: PlannedCell): Promise<OpenCell>;
  /**
   * Removes what cells have left on servers of the user's: what cells that failed had no chance to remove, if there are
   * any, and what cells always leave. Resolves to sentences about what may still be there. Absent: cells leave nothing.
   */
  removeLeft?(hasFailed: boolean): Promise<readonly string[]>;
  /** Gives back what the cells of a run shared, once they are closed. */
  close(): Promise<void>;
}
