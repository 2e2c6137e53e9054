import { completedOf, groupBy, isRequestWork, recordsById } from '../compare/cell-groups.js';
import { judgeOf, marginOf } from '../compare/judge.js';
import { BoundaryError, invalidArgument } from '../errors.js';
import { type CompletedRecord, type Run, type RunRecord, NOOP } from '../records/record.js';
import { checkOf } from '../records/run-file.js';
import { adviceFor } from './advice.js';
import { callTable, isCall, runtimeTable } from './call-table.js';
import { clientLines, hostLines } from './host-block.js';
import { compactNote, isCompact } from './compact.js';
import { attributionTexts } from './factor.js';
import { CROSSING_NOTE, crossingShareOf, resourcesTable } from './resource-tables.js';
import { settingTable } from './setting-table.js';
import { type Block, heading, list, paragraph, renderMarkdown, renderTerminal, tableBlock, under } from './document.js';
import { type MarkedTable, headToHeadTable } from './head-to-head.js';
import { noVerdictNotes } from './marks.js';
import { modelBlocks } from './model-table.js';
import { requestHeadToHeadTable, requestTable } from './request-tables.js';
import { noiseText, disturbanceText, verdictsText } from './trust.js';
import { resultsTable, unfinishedTable } from './results-table.js';

/**
 * The content of `run.md`. Throws a `BoundaryError` for what is no run.
 *
 * @example
 * ```js
 * import { readRun, renderRunMarkdown } from 'boundary-bench/bench';
 *
 * const page = renderRunMarkdown(await readRun('before/run.json'));
 * console.log(page.startsWith('# Boundary Bench')); // true
 * ```
 */
export function renderRunMarkdown(run: Run): string {
  return ofRun(run, () => renderMarkdown(runDocument(run)));
}

/**
 * The report for a terminal, without the tables of resources. Those are for a closer look. `columns` are the columns of
 * the terminal. Without them, tables are as wide as their texts.
 *
 * @example
 * ```js
 * import { readRun, renderRunTerminal } from 'boundary-bench/bench';
 *
 * const report = renderRunTerminal(await readRun('before/run.json'), 80);
 * console.log(report.split('\n').length > 10); // true
 * ```
 */
export function renderRunTerminal(run: Run, columns?: number): string {
  return ofRun(run, () => renderTerminal(runDocument(run, { withResources: false }), { columns }));
}

/** Renders a run. If that fails, it checks the run by the schema of `run.json`, to say what the run lacks. */
function ofRun(run: Run, render: () => string): string {
  try {
    return render();
  } catch (cause) {
    if (cause instanceof BoundaryError) throw cause;
    explainedBy(cause, () => checkOf()(run, 'the run'));
    throw invalidArgument('the run that was given is none', { cause });
  }
}

/** Throws the `BoundaryError` of a check. Any other error, of a value that JSON can't hold, says less than `cause`. */
function explainedBy(cause: unknown, check: () => void): void {
  try {
    check();
  } catch (reason) {
    throw reason instanceof BoundaryError ? reason : invalidArgument('the run that was given is none', { cause });
  }
}

interface Extent {
  readonly withResources: boolean;
}

function runDocument(run: Run, extent: Extent = { withResources: true }): Block[] {
  const engines = groupBy(run.records, (record) => record.engine);
  return [
    heading(1, 'Boundary Bench'),
    heading(2, 'Hardware / software'),
    ...list(hostLines(run.context)),
    ...(isCompact(run) ? [paragraph(compactNote(run))] : []),
    ...engines.flatMap((records) => engineBlocks(run, records, extent)),
    ...modelBlocks(run.model),
    ...under(heading(2, 'Failed and skipped'), tableBlock(unfinishedTable(run.records))),
    ...trustBlocks(run),
  ];
}

/** The blocks of one engine, whose records are `records`. */
function engineBlocks(run: Run, records: readonly RunRecord[], { withResources }: Extent): Block[] {
  const engine = records[0]?.engine ?? '';
  const completed = completedOf(records);
  if (completed.length === 0) return [];
  const recordOf = recordsById(run.records);
  const [margin, judge] = [marginOf(run), judgeOf(run)];
  const isRow = (record: CompletedRecord): boolean => !isRequestWork(record) && !isCall(record);
  const callIds = new Set(completed.filter(isCall).map(({ id }) => id));
  const comparisons = run.comparisons.filter(
    (comparison) => comparison.engine === engine && !callIds.has(comparison.numerator),
  );
  const rowWork = comparisons.filter((comparison) => !isRequestWork(comparison));
  const requestWork = comparisons.filter(isRequestWork);
  const requests = requestTable(completed.filter(isRequestWork), run.context.host.logicalCores);
  return [
    heading(2, `Engine: ${engine}`),
    ...adaptationBlocks(run.context.adaptations?.[engine]),
    ...list(adviceFor(run, engine)),
    ...tableBlock(callTable(completed.filter(isCall), run.comparisons, judge)),
    ...noVerdictNotes([
      ...completed.filter(isCall),
      ...run.comparisons.filter(({ numerator }) => callIds.has(numerator)),
    ]).map(paragraph),
    ...(engine === NOOP ? [] : list(attributionTexts(completedOf(run.records), judge))),
    ...runtimeBlocks(completed.filter(isCall), run),
    ...tableBlock(resultsTable(completed.filter(isRow))),
    ...noVerdictNotes(completed.filter(isRow)).map(paragraph),
    ...headToHeadBlocks('Rust vs Node.js', headToHeadTable(rowWork, recordOf, margin)),
    ...tableBlock(requests.table),
    ...requests.notes.map(paragraph),
    ...headToHeadBlocks(
      'In this process, behind gRPC, or partly each',
      settingTable(completed.filter(isRequestWork), judge, run.context.networks?.[engine]),
    ),
    ...headToHeadBlocks(
      'Rust vs Node.js with the same connections',
      requestHeadToHeadTable(requestWork, recordOf, margin),
    ),
    ...clientLines(completed, run.context).map(paragraph),
    ...(withResources ? resourceBlocks(run, completed) : []),
  ];
}

function resourceBlocks(run: Run, completed: readonly CompletedRecord[]): Block[] {
  const shareOf = crossingShareOf(run);
  const note = completed.some((record) => shareOf(record) !== undefined) ? [paragraph(CROSSING_NOTE)] : [];
  return [heading(3, 'Where the time went'), ...tableBlock(resourcesTable(completed, shareOf)), ...note];
}

/** The differences in what the cells did from other servers of the engine. */
function adaptationBlocks(adaptations: readonly string[] = []): Block[] {
  return adaptations.length === 0 ? [] : [paragraph(`On this server ${adaptations.join('; ')}.`)];
}

function runtimeBlocks(calls: readonly CompletedRecord[], { context }: Run): Block[] {
  const blocks = tableBlock(runtimeTable(calls, context.versions['node'] ?? ''));
  return under(heading(3, 'The same call on each runtime'), blocks);
}

function headToHeadBlocks(title: string, { table, notes }: MarkedTable): Block[] {
  return table.rows.length === 0 ? [] : [heading(3, title), ...tableBlock(table), ...notes.map(paragraph)];
}

function trustBlocks({ comparisons, records }: Run): Block[] {
  const texts = [verdictsText({ comparisons }), disturbanceText(completedOf(records)), noiseText(comparisons)];
  return under(
    heading(2, 'How far to trust this run'),
    texts.flatMap((text) => (text === undefined ? [] : [paragraph(text)])),
  );
}
