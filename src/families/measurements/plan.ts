import type { Cell } from '../../records/record.js';
import type { FamilyOptions, PlannedCell } from '../workload.js';
import { expectedOf } from './closed-forms.js';
import { engineSkip } from './engine-uris.js';
import { type LaneEntry, matrix, workloadEntry } from './matrix.js';
import { peerSkip } from './peers.js';
import { splitRows } from './rows.js';

export const FAMILY_NAME = 'measurements';

/** A cell of this family. */
export interface PlannedMeasurement extends PlannedCell {
  /** The rows of its tables together; a query that filters or groups moves fewer over the boundary. */
  readonly tableRows: number;
  /** The client of a `js` cell; of a `rust` cell, the client library that it uses in place of the engine. */
  readonly target?: string;
}

type PlanOptions = Pick<FamilyOptions, 'rows' | 'workers'> & Partial<FamilyOptions>;

/**
 * Every cell of the family: the lanes of the matrix, each with its workloads, engines, transports, flavors and workers.
 */
export function planMeasurements(options: PlanOptions): PlannedMeasurement[] {
  const lanes = matrix.lanes.filter(({ peer }) => peer !== true || options.peers === true);
  const cells = lanes.flatMap((lane) => cellsOfLane(lane, options));
  // Engine by engine, so that the tables that one engine holds for its queries can go before the next engine's come.
  return orderedGroups().flatMap((group) => cells.filter((cell) => cell.group === group));
}

function cellsOfLane(lane: LaneEntry, options: PlanOptions): PlannedMeasurement[] {
  const { rows, workers, engines = {} } = options;
  const counts = lane.workers.flatMap((count) => (count === 'one' ? [1] : workers > 1 ? [workers] : []));
  return lane.workloads.flatMap((workload) =>
    lane.engines.flatMap((engine) => {
      const cellsOver = (transport: string | undefined): PlannedMeasurement[] => {
        const skip =
          skipReason(workload, engine) ??
          engineSkip(engine, engines[engine], transport) ??
          (lane.peer === true ? peerSkip(lane.target ?? engine) : undefined);
        return lane.flavors.flatMap((flavor) =>
          counts.map((count) => plannedCell(lane, { workload, engine, transport, flavor, workers: count, rows }, skip)),
        );
      };
      return [...transportsOf(lane, engine).flatMap(cellsOver), ...unusedTransport(lane, workload, engine, options)];
    }),
  );
}

/** The transports of a lane on an engine; one that is `undefined` where the engine has none. */
function transportsOf(lane: LaneEntry, engine: string): readonly (string | undefined)[] {
  const ofEngine = matrix.engines[engine]?.transports;
  if (ofEngine === undefined) return [undefined];
  return ofEngine.filter((transport) => lane.transports?.includes(transport) ?? true);
}

/** A skipped cell of an insert over a transport that takes no rows. One of a lane is enough to say it. */
function unusedTransport(
  lane: LaneEntry,
  workload: string,
  engine: string,
  { rows, engines = {} }: PlanOptions,
): PlannedMeasurement[] {
  const isIn = workloadEntry(workload).direction === 'in';
  const used = transportsOf(lane, engine);
  const unused = matrix.engines[engine]?.transports?.find((transport) => !used.includes(transport));
  const [flavor] = lane.flavors;
  // What a client library can't do is not the engine's to say.
  if (!isIn || unused === undefined || flavor === undefined || lane.target !== undefined) return [];
  const skip = engineSkip(engine, engines[engine], unused) ?? 'gRPC is for queries only';
  return [plannedCell(lane, { workload, engine, transport: unused, flavor, workers: 1, rows }, skip)];
}

interface Dimensions extends Required<Pick<Cell, 'workload' | 'engine' | 'flavor' | 'workers' | 'rows'>> {
  readonly transport: string | undefined;
}

function plannedCell(lane: LaneEntry, dimensions: Dimensions, skip: string | undefined): PlannedMeasurement {
  const { workload, engine, transport, flavor, workers, rows } = dimensions;
  const { side, target, rustLane } = lane;
  const tableRows = tableRowsOf(lane, { workload, rows });
  const cellRows = expectedOf(workload, splitRows(tableRows, workers)).rows;
  const place = [...new Set([engine, transport, target])].filter((part) => part !== undefined);
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
      ...(transport === undefined ? {} : { transport }),
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
 * The sides, lanes and transports of one workload on one engine. Tables in pure JavaScript are compared with bare batches in memory,
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
