import type { Cell } from '../../records/record.js';
import { dataViewColumns } from '../../clients/data-view-columns.js';
import type { IngestTarget } from '../../clients/ingest-target.js';
import { lineProtocol } from '../../clients/line-protocol.js';
import { msgpackr } from '../../clients/msgpackr.js';
import type { RequestValues } from '../requests/options.js';
import type { Family, FamilyOptions, OpenCell, PlannedCell } from '../workload.js';
import { matrix, type StageLane } from './matrix.js';
import { soakFamily } from './soak-family.js';
import { openNativeStage, openStageCell } from './stages.js';

const FAMILY_NAME = 'ingest';

/** The engine of a stage, which has no server. */
const ENGINE = 'in-process';

/** The codecs of the `js` side, by the name of their target in the matrix. */
const TARGETS: Readonly<Record<string, IngestTarget>> = {
  msgpackr,
  'data-view': dataViewColumns,
  'line-protocol': lineProtocol,
};

/** A cell of this family. */
interface PlannedStage extends PlannedCell {
  readonly target?: string;
}

/** The stages of time-series ingest in process, and the soak over HTTP. */
export const ingestFamily: Family<RequestValues> = {
  name: FAMILY_NAME,
  module: import.meta.url,
  description: matrix.description,
  defaultRows: matrix.defaultRows,
  onlyIfNamed: true,
  options: soakFamily.options!,
  plan: (options) => [...planStages(options), ...soakFamily.plan(options)],
  open: async (options, cells) => {
    const [stages, requests] = [cells.filter(isStage), cells.filter((planned) => !isStage(planned))];
    const soak = await soakFamily.open(options, requests);
    return {
      versions: async () => ({ ...versionsOf(stages), ...(await soak.versions()) }),
      shared: async () => (requests.length === 0 ? {} : soak.shared!()),
      openCell: (planned) => (isStage(planned) ? openStage(planned) : soak.openCell(planned)),
      close: () => soak.close(),
    };
  },
};

function isStage(planned: PlannedCell): planned is PlannedStage {
  return planned.cell.engine === ENGINE;
}

function openStage({ cell, target }: PlannedStage): Promise<OpenCell> {
  const batches = batchesOf(cell.rows);
  if (cell.side === 'rust') return openNativeStage(cell.workload, batches);
  return openStageCell(cell.workload, batches, target === undefined ? undefined : targetOf(target));
}

function planStages({ rows }: FamilyOptions): PlannedStage[] {
  return Object.entries(matrix.workloads).flatMap(([workload, { mostRows = rows }]) =>
    matrix.lanes
      .filter(({ workloads }) => workloads.includes(workload))
      .map((lane) => plannedStage(lane, workload, batchesOf(Math.min(rows, mostRows)) * matrix.batchRows)),
  );
}

function plannedStage(lane: StageLane, workload: string, rows: number): PlannedStage {
  const { side, target, rustLane, variant } = lane;
  const place = [ENGINE, ...(target === undefined ? [] : [target])];
  const cell: Cell = {
    id: [FAMILY_NAME, workload, lane.lane, side, ...place].join('/'),
    family: FAMILY_NAME,
    workload,
    lane: lane.lane,
    side,
    flavor: 'sync',
    variant,
    engine: ENGINE,
    workers: 1,
    rows,
    bytes: rows * matrix.bytesPerRow,
  };
  return {
    cell,
    group: workload,
    ...(rustLane === undefined ? {} : { rustLane }),
    ...(target === undefined ? {} : { target }),
  };
}

function batchesOf(rows: number): number {
  return Math.ceil(rows / matrix.batchRows);
}

function targetOf(name: string): IngestTarget {
  const target = TARGETS[name];
  if (target === undefined) throw new Error(`the family ${FAMILY_NAME} has no codec "${name}"`);
  return target;
}

function versionsOf(cells: readonly PlannedStage[]): Record<string, string> {
  const packages = new Set(cells.flatMap(({ target }) => target ?? []));
  return packages.has('msgpackr') ? { msgpackr: msgpackr.version() } : {};
}
