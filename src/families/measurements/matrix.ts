import type { Side } from '../../records/record.js';
import { familyMatrix } from '../matrix.js';

/** What a sample does to the rows: `in` writes them into an engine, `out` reads them back. */
export type Direction = 'in' | 'out';

/** An engine of the addon. */
export interface EngineEntry {
  /** Whether it runs SQL; otherwise its tables can only be scanned whole. */
  readonly sql: boolean;
  /** The transports to its server, each a dimension of its cells; absent if there is none to choose. */
  readonly transports?: readonly string[];
  /** The names of text and 64-bit floats in a CAST, if they are not VARCHAR and DOUBLE PRECISION. */
  readonly textType?: string;
  readonly doubleType?: string;
}

export interface WorkloadEntry {
  readonly direction: Direction;
  /** The query of an `out` workload; `{table}` stands for the table's name. */
  readonly sql?: string;
  /** The columns that a checksum of the workload sums, in order. */
  readonly columns: readonly string[];
  /** The sensor whose rows the query selects; absent if it selects none. */
  readonly filteredSensor?: number;
}

/** One way to move the rows, with the cells in which it occurs. */
export interface LaneEntry {
  readonly side: Side;
  readonly lane: string;
  /** The lane of the `rust` side that this one is compared with; absent on the `rust` side. */
  readonly rustLane?: string;
  readonly variant: string;
  readonly workloads: readonly string[];
  readonly engines: readonly string[];
  /** The transports of the lane, on engines that have transports; absent: all of the engine's. */
  readonly transports?: readonly string[];
  readonly flavors: readonly ('sync' | 'async')[];
  readonly workers: readonly ('one' | 'many')[];
  /** The most rows of the lane, if it is too slow for more; its cells record how many. */
  readonly maxRows?: number;
  /** The client of a `js` lane; for a `rust` lane, the client library that it uses instead of the engine. */
  readonly target?: string;
  /** Whether the client is optional: planned only if peers are asked for, and skipped if it isn't installed. */
  readonly peer?: boolean;
}

/** The part of `bench/matrix.json` that defines this family. */
export interface MeasurementsMatrix {
  readonly description: string;
  /** The name of the table with all rows; workers append `_0`, `_1`, ... to it. */
  readonly table: string;
  readonly defaultRows: number;
  readonly bytesPerRow: number;
  readonly sensors: number;
  readonly valueStep: number;
  readonly timestampStart: number;
  readonly timestampStep: number;
  readonly batchRows: number;
  readonly inputRows: number;
  readonly floatTolerance: number;
  /** The capabilities of the addon's engines. Other engines are JavaScript clients, used by their own lanes. */
  readonly engines: Readonly<Record<string, EngineEntry>>;
  readonly workloads: Readonly<Record<string, WorkloadEntry>>;
  readonly lanes: readonly LaneEntry[];
}

/** The family's definition, read from the package's `bench` folder. Both languages read this file. */
export const matrix = familyMatrix<MeasurementsMatrix>('measurements');

/** The definition of a workload. */
export function workloadEntry(workload: string): WorkloadEntry {
  const entry = matrix.workloads[workload];
  if (entry === undefined) throw new Error(`the matrix has no workload "${workload}"`);
  return entry;
}

/** The query of an `out` workload over a table. */
export function queryOf(workload: string, table: string): string {
  const { sql } = workloadEntry(workload);
  if (sql === undefined) throw new Error(`the workload "${workload}" has no query`);
  return sql.replace('{table}', table);
}
