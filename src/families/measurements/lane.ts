import type { Checksum } from '../../records/record.js';
import type { Connection } from '../../library/engine/connection.js';
import { SqlType } from '../../library/engine/sql-type.js';
import { TableDefinition } from '../../library/engine/table-definition.js';
import type { Stopwatch } from '../workload.js';
import type { RowRange } from './rows.js';

/** What a lane starts when its work begins and stops where it makes input, encodes or decodes. */
export type LaneClock = Pick<Stopwatch, 'start' | 'stop' | 'apart'>;

/** One worker's share of a cell: one table, and the range of its rows. Plain data, so that it can be sent to a thread. */
export interface LaneTask {
  readonly workload: string;
  readonly lane: string;
  readonly table: string;
  readonly range: RowRange;
}

/**
 * A lane, ready to run: its input memory is there. Each call is one execution; it leaves the clock stopped, unless it
 * throws. A lane out returns what it read.
 */
export type LaneRun = (clock: LaneClock, signal: AbortSignal) => Promise<Checksum | undefined>;

/** Prepares a lane, untimed. The tables are there when it runs: empty ones for a lane in. */
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
