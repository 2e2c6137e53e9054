import type { Cell } from '../../records/record.js';
import { dataViewColumns } from '../../clients/data-view-columns.js';
import type { JsCodec } from '../../clients/js-codec.js';
import { lineProtocol } from '../../clients/line-protocol.js';
import { msgpackr } from '../../clients/msgpackr.js';
import { IN_PROCESS, plannedBy } from '../in-process.js';
import type { RequestValues } from '../requests/options.js';
import type { Family, FamilyOptions, OpenCell, PlannedCell } from '../workload.js';
import { matrix, type StageLane } from './matrix.js';
import { soakFamily } from './soak-family.js';
import { openNativeStage, openStageCell } from './stages.js';

const FAMILY_NAME = 'ingest';

/** The codecs of the `js` side, by their names in the matrix. */
const CODECS: Readonly<Record<string, JsCodec>> = {
  msgpackr,
  'data-view': dataViewColumns,
  'line-protocol': lineProtocol,
};

/** The stages of time-series ingest in process, and the soak over HTTP. */
export const ingestFamily: Family<RequestValues> = {
  name: FAMILY_NAME,
  module: import.meta.url,
  description: matrix.description,
  defaultRows: matrix.defaultRows,
  onlyIfNamed: true,
  options: soakFamily.options!,
  plan: (options) => [...planStages(options), ...soakFamily.plan(options)],
  reach: async (options, cells) => {
    if (!cells.every(isStage)) await soakFamily.reach!(options, cells);
  },
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

function isStage(planned: PlannedCell): boolean {
  return planned.cell.engine === IN_PROCESS;
}

function openStage({ cell, client }: PlannedCell): Promise<OpenCell> {
  const batches = batchesOf(cell.rows);
  if (cell.side === 'rust') return openNativeStage(cell.workload, batches);
  return openStageCell(cell.workload, batches, client === undefined ? undefined : codecOf(client));
}

function planStages({ rows }: FamilyOptions): PlannedCell[] {
  return Object.entries(matrix.workloads).flatMap(([workload, { mostRows = rows }]) =>
    matrix.lanes
      .filter(({ workloads }) => workloads.includes(workload))
      .map((lane) => plannedStage(lane, workload, batchesOf(Math.min(rows, mostRows)) * matrix.batchRows)),
  );
}

function plannedStage(lane: StageLane, workload: string, rows: number): PlannedCell {
  const { side, client, variant } = lane;
  const place = [IN_PROCESS, ...(client === undefined ? [] : [client])];
  const cell: Cell = {
    id: [FAMILY_NAME, workload, lane.lane, side, ...place].join('/'),
    family: FAMILY_NAME,
    workload,
    lane: lane.lane,
    side,
    flavor: 'sync',
    variant,
    engine: IN_PROCESS,
    workers: 1,
    rows,
    bytes: rows * matrix.bytesPerRow,
  };
  return plannedBy(lane, cell);
}

function batchesOf(rows: number): number {
  return Math.ceil(rows / matrix.batchRows);
}

function codecOf(name: string): JsCodec {
  const codec = CODECS[name];
  if (codec === undefined) throw new Error(`the family ${FAMILY_NAME} has no codec "${name}"`);
  return codec;
}

function versionsOf(cells: readonly PlannedCell[]): Record<string, string> {
  const packages = new Set(cells.flatMap(({ client }) => client ?? []));
  return packages.has('msgpackr') ? { msgpackr: msgpackr.version() } : {};
}
