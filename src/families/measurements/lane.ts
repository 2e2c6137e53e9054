import type { Checksum } from '../../records/record.js';
import type { Connection } from '../../library/engine/connection.js';
import { SqlType } from '../../library/engine/sql-type.js';
import { TableDefinition } from '../../library/engine/table-definition.js';
import type { Stopwatch } from '../workload.js';
import type { RowRange } from './rows.js';

/** The clock that a lane starts with its work, and stops while it makes input, encodes or decodes. */
export type LaneClock = Pick<Stopwatch, 'start' | 'stop' | 'apart'>;

/** One worker's share of a cell: one table, and the range of its rows. Plain data, so that it can be sent to a thread. */
export interface LaneTask {
  readonly workload: string;
  readonly lane: string;
  readonly table: string;
  readonly range: RowRange;
  /** Whether queries run ahead of the lane, if it is `columnar`. See `QueryOptions`. */
  readonly readAhead: boolean;
  /** The most rows of a batch of a query, if the lane is `columnar`; absent: the default of queries. */
  readonly batchRows?: number;
}

/**
 * A lane that is ready to run, with its input memory allocated. Each call is one execution. It leaves the clock
 * stopped, unless it throws. A lane out returns the checksum of the rows it read.
 */
export type LaneRun = (clock: LaneClock, signal: AbortSignal) => Promise<Checksum | undefined>;

/** Prepares a lane, untimed. Its tables exist when it runs. The tables of a lane in are empty. */
export type Lane = (connection: Connection, task: LaneTask) => LaneRun;

/** The definition of a table of measurements. */
export function measurementsTable(name: string): TableDefinition {
  return new TableDefinition(name, [
    { name: 'id', type: SqlType.int(), nullable: false },
    { name: 'sensor_id', type: SqlType.int() },
    { name: 'value', type: SqlType.double() },
    { name: 'timestamp', type: SqlType.bigInt() },
  ]);
}
