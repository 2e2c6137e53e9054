import type { Cell } from '../../records/record.js';
import type { FamilyOptions, PlannedCell } from '../workload.js';
import { expectedOf } from './closed-forms.js';
import { type LaneEntry, matrix, workloadEntry } from './matrix.js';
import { splitRows } from './rows.js';

export const FAMILY_NAME = 'measurements';

/** A cell of this family, with the client of a `js` cell. */
export interface PlannedMeasurement extends PlannedCell {
  /** The rows of its tables together; a query that filters or groups moves fewer over the boundary. */
  readonly tableRows: number;
  readonly target?: string;
}

/** Every cell of the family: the lanes of the matrix, each with its workloads, engines, flavors and workers. */
export function planMeasurements(options: Pick<FamilyOptions, 'rows' | 'workers'>): PlannedMeasurement[] {
  const cells = matrix.lanes.flatMap((lane) => cellsOfLane(lane, options));
  // Engine by engine, so that the tables that one engine holds for its queries can go before the next engine's come.
  return orderedGroups().flatMap((group) => cells.filter((cell) => cell.group === group));
}

function cellsOfLane(
  lane: LaneEntry,
  { rows, workers }: Pick<FamilyOptions, 'rows' | 'workers'>,
): PlannedMeasurement[] {
  const counts = lane.workers.flatMap((count) => (count === 'one' ? [1] : workers > 1 ? [workers] : []));
  return lane.workloads.flatMap((workload) =>
    lane.engines.flatMap((engine) =>
      lane.flavors.flatMap((flavor) =>
        counts.map((count) => plannedCell(lane, { workload, engine, flavor, workers: count, rows })),
      ),
    ),
  );
}

type Dimensions = Required<Pick<Cell, 'workload' | 'engine' | 'flavor' | 'workers' | 'rows'>>;

function plannedCell(lane: LaneEntry, { workload, engine, flavor, workers, rows }: Dimensions): PlannedMeasurement {
  const { side, target, rustLane } = lane;
  const tableRows = tableRowsOf(lane, { workload, rows });
  const cellRows = expectedOf(workload, splitRows(tableRows, workers)).rows;
  const place = target === undefined || target === engine ? [engine] : [engine, target];
  const skip = skipReason(workload, engine);
  return {
    cell: {
      id: [FAMILY_NAME, workload, lane.lane, side, ...place, flavor, `w${workers}`].join('/'),
      family: FAMILY_NAME,
      workload,
      lane: lane.lane,
      side,
      flavor,
      variant: lane.variant,
      engine,
      workers,
      rows: cellRows,
      bytes: cellRows * matrix.bytesPerRow,
    },
    tableRows,
    group: groupOf(workload, engine),
    ...(rustLane === undefined ? {} : { rustLane }),
    ...(target === undefined ? {} : { target }),
    ...(skip === undefined ? {} : { skip }),
  };
}

/**
 * A slow lane is spared rows that cross, not those that the engine filters or groups: a query of ten rows over the whole
 * table is compared with the others' over the whole table.
 */
function tableRowsOf({ maxRows }: LaneEntry, { workload, rows }: Pick<Dimensions, 'workload' | 'rows'>): number {
  const crossing = expectedOf(workload, splitRows(rows, 1)).rows;
  return maxRows === undefined || crossing <= maxRows ? rows : Math.floor((rows * maxRows) / crossing);
}

function skipReason(workload: string, engine: string): string | undefined {
  const capabilities = matrix.engines[engine];
  const { sql } = workloadEntry(workload);
  // Without SQL an engine scans whole tables; what filters or groups is more than that.
  const needsSql = sql !== undefined && /\b(WHERE|GROUP BY)\b/.test(sql);
  return capabilities !== undefined && !capabilities.sql && needsSql
    ? `the engine ${engine} runs no SQL: it can only be scanned whole`
    : undefined;
}

/**
 * The sides and lanes of one workload on one engine. Tables in pure JavaScript are compared with bare batches in memory,
 * so they share the group of the engine that has no SQL.
 */
function groupOf(workload: string, engine: string): string {
  return `${workload}|${engine in matrix.engines ? engine : bareEngine()}`;
}

function bareEngine(): string {
  const bare = Object.entries(matrix.engines).find(([, { sql }]) => !sql);
  return bare?.[0] ?? 'javascript';
}

function orderedGroups(): string[] {
  return Object.keys(matrix.engines).flatMap((engine) =>
    Object.keys(matrix.workloads).map((workload) => groupOf(workload, engine)),
  );
}
