import type { Side } from '../../records/record.js';
import { familyMatrix } from '../matrix.js';
import type { LaneRuns } from '../workload.js';

/** The direction of a sample's rows: `in` writes them into an engine, `out` reads them back. */
export type Direction = 'in' | 'out';

/** A capability of an engine, which a lane or a workload may need. The schema describes each. */
export type Capability = 'sql' | 'batches' | 'detail';

/** The form in which values cross: row by row, or as whole columns. */
export type Form = 'rows' | 'columns';

type Flavor = 'sync' | 'async';
type Workers = 'one' | 'many';

/** An engine of the addon. */
export interface EngineEntry {
  readonly can: readonly Capability[];
  /** The server that must be found to open the engine; absent if it needs none. */
  readonly server?: string;
  /** Whether a run starts one private server for all of its processes. */
  readonly shared?: boolean;
  /**
   * The transports to its server, each a dimension of its cells; absent if there is none to choose. A transport with a
   * limit takes no rows, and `limit` says so.
   */
  readonly transports?: Readonly<Record<string, { readonly limit?: string }>>;
  /** Whether quick runs measure it. */
  readonly quick?: boolean;
  /** The flavors and numbers of workers with which the engine is measured; absent: each lane's own. */
  readonly flavors?: readonly Flavor[];
  readonly workers?: readonly Workers[];
  /** The most rows of lanes of a form, if the engine is too slow for more. */
  readonly maxRows?: Readonly<Partial<Record<Form, number>>>;
}

export interface WorkloadEntry {
  readonly direction: Direction;
  /** The capabilities without which the cells of an engine are skipped. */
  readonly needs?: readonly Capability[];
  /** Whether usual runs measure it only in the lanes of quick runs, with one worker: it shows little that others do not. */
  readonly few?: boolean;
  /** The unit that its rate counts, if not rows: few rows come out, however many it reads. */
  readonly ratedBy?: 'queries';
  /** The query of an `out` workload. `{table}` stands for the table's name. */
  readonly sql?: string;
  /** The columns that a checksum of the workload sums, in order. */
  readonly columns: readonly string[];
  /** The sensor whose rows the query selects; absent if it selects none. */
  readonly filteredSensor?: number;
  /** The size of a row of the result in bytes; absent: the size of a row of the table. */
  readonly bytesPerRow?: number;
}

/** One way to move the rows, with the cells in which it occurs. */
interface LaneEntry {
  readonly side: Side;
  readonly lane: string;
  /** The lane of the `rust` side that this one is compared with; absent on the `rust` side, and if it has none for the workload. */
  readonly rustLane?: string;
  readonly variant: string;
  readonly workloads: readonly string[];
  /** The engine of a lane of one engine, as each client is; absent: every engine that can do what the lane needs. */
  readonly engine?: string;
  readonly needs?: readonly Capability[];
  readonly form?: Form;
  /** `full`: transports without a limit, `limited`: those with one; absent: all of the engine's. */
  readonly transports?: 'full' | 'limited';
  readonly flavors: readonly Flavor[];
  readonly workers: readonly Workers[];
  readonly runs?: LaneRuns;
  /** The most rows of the lane, if it is too slow for more. Its cells record how many. */
  readonly maxRows?: number;
  /** The client of a `js` lane. For a `rust` lane: the client library that it uses instead of the engine. */
  readonly client?: string;
  /** Whether the client is optional: planned only if peers are asked for, and skipped if it isn't installed. */
  readonly peer?: boolean;
}

/** A lane on one engine, within the limits of both. */
export interface EngineLane extends Omit<LaneEntry, 'engine' | 'form' | 'transports'> {
  readonly engine: string;
  /** The transports of the lane; one `undefined` if the engine has none to choose. */
  readonly transports: readonly (string | undefined)[];
}

/** The part of `bench/matrix.json` that defines this family. */
export interface MeasurementsMatrix {
  readonly description: string;
  /** The name of the table with all rows. Workers append `_0`, `_1`, ... to it. */
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
  /** The addon's engines. Other engines are JavaScript clients, used by their own lanes. */
  readonly engines: Readonly<Record<string, EngineEntry>>;
  readonly workloads: Readonly<Record<string, WorkloadEntry>>;
  readonly lanes: readonly LaneEntry[];
}

/** The family's definition, read from the package's `bench` folder. Both languages read this file. */
export const matrix = familyMatrix<MeasurementsMatrix>('measurements');

/** The lanes of all engines: each lane on each engine that can do what it needs. */
export const engineLanes: readonly EngineLane[] = matrix.lanes.flatMap((lane) =>
  (lane.engine === undefined ? enginesWith(lane.needs) : [lane.engine]).map((engine) => onEngine(lane, engine)),
);

function enginesWith(needs: readonly Capability[] = []): string[] {
  return Object.keys(matrix.engines).filter((engine) => missing(engine, needs) === undefined);
}

/** The first of the capabilities that an engine of the addon lacks. */
export function missing(engine: string, needs: readonly Capability[] = []): Capability | undefined {
  const can = matrix.engines[engine]?.can;
  return can && needs.find((capability) => !can.includes(capability));
}

function onEngine({ form, transports, ...lane }: LaneEntry, engine: string): EngineLane {
  const { flavors, workers, maxRows, transports: all } = matrix.engines[engine] ?? {};
  const limits = [lane.maxRows, form && maxRows?.[form]].filter((limit) => limit !== undefined);
  const fits = ({ limit }: { readonly limit?: string }): boolean =>
    transports === undefined || (limit === undefined) === (transports === 'full');
  return {
    ...lane,
    engine,
    transports: all === undefined ? [undefined] : Object.keys(all).filter((name) => fits(all[name]!)),
    flavors: lane.flavors.filter((flavor) => flavors?.includes(flavor) ?? true),
    workers: lane.workers.filter((count) => workers?.includes(count) ?? true),
    ...(limits.length > 0 && { maxRows: Math.min(...limits) }),
  };
}

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
