import { type Cell, itemsOf } from '../../records/record.js';
import type { JsCodec } from '../../clients/js-codec.js';
import { optionalVersion, whyUnusable } from '../../clients/optional-package.js';
import { whyNotBuilt, whyStageNotBuilt } from '../../clients/references.js';
import { IN_PROCESS, plannedBy } from '../in-process.js';
import type { RequestValues } from '../requests/options.js';
import type { Family, FamilyOptions, OpenCell, PlannedCell } from '../workload.js';
import { matrix, type StageLane } from './matrix.js';
import { soakFamily } from './soak-family.js';

const FAMILY_NAME = 'ingest';

/** The codecs of the `js` side, by their names in the matrix. Each is imported only if it is measured. */
const CODECS: Readonly<Record<string, () => Promise<JsCodec>>> = {
  msgpackr: async () => (await import('../../clients/msgpackr.js')).msgpackr,
  'data-view': async () => (await import('../../clients/data-view-columns.js')).dataViewColumns,
  'line-protocol': async () => (await import('../../clients/line-protocol.js')).lineProtocol,
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
      removeLeft: (hasFailed) => soak.removeLeft!(hasFailed),
      close: () => soak.close(),
    };
  },
};

function isStage(planned: PlannedCell): boolean {
  return planned.cell.engine === IN_PROCESS;
}

async function openStage({ cell, client }: PlannedCell): Promise<OpenCell> {
  const batches = batchesOf(itemsOf(cell));
  if (cell.side === 'rust') return (await import('./native-stage.js')).openNativeStage(cell.workload, batches);
  const codec = client === undefined ? undefined : await codecOf(client);
  return (await import('./stages.js')).openStageCell(cell.workload, batches, codec);
}

/** The packages that a stage needs outside of Rust: the package that times its batches, and the package of its codec. */
function packagesOf({ side, client }: StageLane): readonly string[] {
  if (side === 'rust') return [];
  return client === 'msgpackr' ? ['tinybench', client] : ['tinybench'];
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
  const skip = whyUnusable(...packagesOf(lane)) ?? whyNotBuilt(lane) ?? whyStageNotBuilt(lane);
  return { ...plannedBy(lane, cell), ...(skip === undefined ? {} : { skip }) };
}

function batchesOf(rows: number): number {
  return Math.ceil(rows / matrix.batchRows);
}

function codecOf(name: string): Promise<JsCodec> {
  const load = CODECS[name];
  if (load === undefined) throw new Error(`the family ${FAMILY_NAME} has no codec "${name}"`);
  return load();
}

function versionsOf(cells: readonly PlannedCell[]): Record<string, string> {
  const isUsed = cells.some(({ client, skip }) => client === 'msgpackr' && skip === undefined);
  return isUsed ? { msgpackr: optionalVersion('msgpackr') } : {};
}
