import { whyUnusable } from '../../clients/optional-package.js';
import { whyNotBuilt } from '../../clients/references.js';
import type { Cell } from '../../records/record.js';
import type { AskedBy, FamilyOptions, PlannedCell } from '../workload.js';
import { expectedOf } from './closed-forms.js';
import { type DriverLane, lanesOfUser } from './driver-lanes.js';
import { engineSkip, isOwnFile } from './engine-uris.js';
import { type EngineLane, engineLanes, matrix, missing, workloadEntry } from './matrix.js';
import type { MeasurementsValues } from './options.js';
import { packagesOf } from './packages.js';
import { isReachedOver, peerSkip } from './peers.js';
import { splitRows } from './rows.js';

export const FAMILY_NAME = 'measurements';

/** A planned cell of this family. */
export interface PlannedMeasurement extends PlannedCell {
  /** The rows of the cell's tables together. A query that filters or groups moves fewer over the boundary. */
  readonly tableRows: number;
  /** The path of the module that has the engine, if it is the user's own. */
  readonly clientModule?: string;
}

type PlanOptions = Pick<FamilyOptions, 'rows' | 'workers'> & Partial<FamilyOptions & MeasurementsValues>;

/**
 * Every cell of the family: the lanes of the matrix, each with its workloads, engines, transports, flavors and workers.
 */
export function planMeasurements(options: PlanOptions): PlannedMeasurement[] {
  const own = options.client === undefined ? [] : lanesOfUser(options.client);
  const lanes = [...engineLanes.filter(({ peer }) => peer !== true || options.peers === true), ...own];
  const cells = lanes.flatMap((lane) => cellsOfLane(lane, options));
  return orderedGroups().flatMap((group) => cells.filter((cell) => cell.group === group));
}

function cellsOfLane(lane: DriverLane, options: PlanOptions): PlannedMeasurement[] {
  const { rows, workers, engines = {} } = options;
  const { engine } = lane;
  const transports = lane.transports.filter((transport) => isReachedOver(lane.client, transport));
  const counts = lane.workers.flatMap((count) => (count === 'one' ? [1] : workers > 1 ? [workers] : []));
  return lane.workloads.flatMap((workload) => {
    const cellsOver = (transport: string | undefined): PlannedMeasurement[] => {
      const skip =
        skipReason(workload, engine) ??
        engineSkip(engine, engines[engine], transport) ??
        (lane.peer === true ? peerSkip(lane.client ?? engine, engines[engine]) : undefined) ??
        whyUnusable(...packagesOf(lane)) ??
        whyNotBuilt(lane);
      return lane.flavors.flatMap((flavor) =>
        counts.map((count) => ({
          ...plannedCell(lane, { workload, transport, flavor, workers: count, rows }, skip),
          ...(isOwnFile(engine, engines[engine]) && { isExclusive: true }),
        })),
      );
    };
    return [...transports.flatMap(cellsOver), ...unusedTransport(lane, workload, options)];
  });
}

/** A skipped cell of an insert over a transport that takes no rows. One per lane is enough. */
function unusedTransport(
  lane: EngineLane,
  workload: string,
  { rows, engines = {} }: PlanOptions,
): PlannedMeasurement[] {
  const { engine, client } = lane;
  const isIn = workloadEntry(workload).direction === 'in';
  const all = Object.entries(matrix.engines[engine]?.transports ?? {});
  const [transport, { limit } = {}] = all.find(([name]) => !lane.transports.includes(name)) ?? [];
  const [flavor] = lane.flavors;
  // A client library has other limits than the engine.
  if (!isIn || transport === undefined || flavor === undefined || client !== undefined) return [];
  const skip = engineSkip(engine, engines[engine], transport) ?? limit;
  return [plannedCell(lane, { workload, transport, flavor, workers: 1, rows }, skip)];
}

interface Dimensions extends Required<Pick<Cell, 'workload' | 'flavor' | 'workers' | 'rows'>> {
  readonly transport: string | undefined;
}

function plannedCell(lane: DriverLane, dimensions: Dimensions, skip: string | undefined): PlannedMeasurement {
  const { workload, transport, flavor, workers, rows } = dimensions;
  const { side, engine, client, module, rustLane } = lane;
  const { ratedBy, bytesPerRow = matrix.bytesPerRow } = workloadEntry(workload);
  const tableRows = tableRowsOf(lane, { workload, rows });
  const cellRows = expectedOf(workload, splitRows(tableRows, workers)).rows;
  const place = [...new Set([engine, transport, client])].filter((part) => part !== undefined);
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
      // Each worker queries a table of its own.
      ...(ratedBy === 'queries' ? { queries: workers } : { bytes: cellRows * bytesPerRow }),
    },
    tableRows,
    group: groupOf(workload, engine),
    ...(rustLane === undefined ? {} : { rustLane }),
    ...(client === undefined ? {} : { client }),
    ...(module === undefined ? {} : { clientModule: module }),
    // Columns cross as a whole, and no value becomes an object.
    ...(lane.lane.startsWith('column') && { isFastest: true }),
    ...(matrix.engines[engine]?.server !== undefined && { usesServer: true }),
    ...askedOf(lane, { workload, flavor, workers }),
    ...(skip === undefined ? {} : { skip }),
  };
}

/**
 * The runs that a cell is in. Usual runs answer for one engine, by one worker. Other engines, bare memory and tables in
 * JavaScript would take most of the time. Usual runs have both flavors of a lane in Rust: the lane decides which flavor
 * is faster, and Node's lanes are compared with the best. Quick runs have the first flavor alone, since the second
 * would take as long again.
 */
function askedOf(
  { side, engine, flavors, runs }: EngineLane,
  { workload, flavor, workers }: Pick<Dimensions, 'workload' | 'flavor' | 'workers'>,
): Pick<PlannedCell, 'askedBy' | 'isQuick'> {
  const askedBy: AskedBy[] = [];
  const { quick } = matrix.engines[engine] ?? {};
  const { few, needs } = workloadEntry(workload);
  if (quick !== true || missing(engine, needs) !== undefined) askedBy.push('engine');
  if (runs === 'named' || (few === true && runs !== 'quick')) askedBy.push('lane');
  if (workers > 1) askedBy.push('workers');
  const isFirst = flavor === flavors[0];
  if (!isFirst && side !== 'rust') askedBy.push('all');
  return {
    ...(askedBy.length > 0 && { askedBy }),
    ...(quick === true && runs === 'quick' && workers === 1 && isFirst && { isQuick: true }),
  };
}

/**
 * The rows of a cell's tables. A slow lane is limited in rows that cross, not in rows that the engine filters or
 * groups. So a query of ten rows over the whole table is compared with the other lanes over the whole table.
 */
function tableRowsOf({ maxRows }: EngineLane, { workload, rows }: Pick<Dimensions, 'workload' | 'rows'>): number {
  const crossing = expectedOf(workload, splitRows(rows, 1)).rows;
  return maxRows === undefined || crossing <= maxRows ? rows : Math.floor((rows * maxRows) / crossing);
}

function skipReason(workload: string, engine: string): string | undefined {
  return missing(engine, workloadEntry(workload).needs) === 'sql'
    ? `the engine ${engine} runs no SQL: it can only be scanned whole`
    : undefined;
}

/**
 * The group of the sides, lanes and transports of one workload on one engine. Tables in pure JavaScript are compared
 * with bare batches in memory, so they share the group of the engine without SQL.
 */
function groupOf(workload: string, engine: string): string {
  return `${workload}|${engine in matrix.engines ? engine : bareEngine()}`;
}

function bareEngine(): string {
  return Object.keys(matrix.engines).find((engine) => missing(engine, ['sql'])) ?? 'javascript';
}

function orderedGroups(): string[] {
  return Object.keys(matrix.engines).flatMap((engine) =>
    Object.keys(matrix.workloads).map((workload) => groupOf(workload, engine)),
  );
}
