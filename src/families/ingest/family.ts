import type { Cell } from '../../records/record.js';
import { dataViewColumns } from '../../clients/data-view-columns.js';
import type { JsCodec } from '../../clients/js-codec.js';
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

/** The codecs of the `js` side, by their names in the matrix. */
const CODECS: Readonly<Record<string, JsCodec>> = {
  msgpackr,
  'data-view': dataViewColumns,
  'line-protocol': lineProtocol,
};

/** A cell of this family. */
interface PlannedStage extends PlannedCell {
  readonly client?: string;
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

function openStage({ cell, client }: PlannedStage): Promise<OpenCell> {
  const batches = batchesOf(cell.rows);
  if (cell.side === 'rust') return openNativeStage(cell.workload, batches);
  return openStageCell(cell.workload, batches, client === undefined ? undefined : codecOf(client));
}

function planStages({ rows }: FamilyOptions): PlannedStage[] {
  return Object.entries(matrix.workloads).flatMap(([workload, { mostRows = rows }]) =>
    matrix.lanes
      .filter(({ workloads }) => workloads.includes(workload))
      .map((lane) => plannedStage(lane, workload, batchesOf(Math.min(rows, mostRows)) * matrix.batchRows)),
  );
}

function plannedStage(lane: StageLane, workload: string, rows: number): PlannedStage {
  const { side, client, rustLane, variant } = lane;
  const place = [ENGINE, ...(client === undefined ? [] : [client])];
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
    ...(client === undefined ? {} : { client }),
  };
}

function batchesOf(rows: number): number {
  return Math.ceil(rows / matrix.batchRows);
}

function codecOf(name: string): JsCodec {
  const codec = CODECS[name];
  if (codec === undefined) throw new Error(`the family ${FAMILY_NAME} has no codec "${name}"`);
  return codec;
}

function versionsOf(cells: readonly PlannedStage[]): Record<string, string> {
  const packages = new Set(cells.flatMap(({ client }) => client ?? []));
  return packages.has('msgpackr') ? { msgpackr: msgpackr.version() } : {};
}
