/** All records of a run: those with samples as a table that sorts and filters, the others folded by their reasons. */
import { completedOf, groupBy } from '../../compare/cell-groups.js';
import { type CompletedRecord, type RunRecord, itemsOf } from '../../records/record.js';
import { medianOf, processCpuOf, rateOf } from '../../stats/summary.js';
import { UNKNOWN, formatCount, formatDuration, formatPercent, formatRateOf, formatRows } from '../format.js';
import { CLOSED_LOOP_NOTE, isClosedLoop, percentileIntervalText } from '../percentile.js';
import { variantOf } from '../labels.js';
import { noVerdictMark, noVerdictNotes } from '../marks.js';
import { reasonOf } from '../results-table.js';
import { type Markup, markup } from './markup.js';

/** A column of the table: a number sorts by its value, a text as it is. */
interface RecordColumn {
  readonly title: string;
  readonly textOf: (record: CompletedRecord) => string;
  readonly amountOf?: (record: CompletedRecord) => number | undefined;
  /** Whether the column is left out on a narrow screen. */
  readonly isWide?: boolean;
}

const COLUMNS: readonly RecordColumn[] = [
  { title: 'Workload', textOf: ({ workload }) => workload },
  { title: 'Engine', textOf: ({ engine }) => engine },
  { title: 'Side', textOf: ({ side }) => side },
  { title: 'Variant', textOf: variantOf },
  { title: 'Lane', textOf: ({ lane }) => lane, isWide: true },
  { title: 'Flavor', textOf: ({ flavor }) => flavor ?? UNKNOWN, isWide: true },
  { title: 'Transport', textOf: ({ transport }) => transport ?? UNKNOWN, isWide: true },
  numbers('Connections', ({ connections }) => connections, formatCount),
  numbers('Batch', ({ batch }) => batch, formatCount),
  numbers('Items', itemsOf, formatRows),
  {
    title: 'Median',
    textOf: ({ summary, noVerdict }) => formatDuration(summary.medianSeconds) + noVerdictMark(noVerdict),
    amountOf: ({ summary }) => summary.medianSeconds,
  },
  { title: 'Rate', textOf: formatRateOf, amountOf: rateOf },
  numbers('CPU', cpuEach, formatDuration),
  numbers('Spread', ({ summary }) => summary.spread, formatPercent),
  {
    title: 'p50',
    textOf: (record) => percentileIntervalText(record, 'p50'),
    amountOf: ({ latency }) => latency?.p50,
    isWide: true,
  },
  {
    title: 'p99',
    textOf: (record) => percentileIntervalText(record, 'p99'),
    amountOf: ({ latency }) => latency?.p99,
    isWide: true,
  },
  numbers('Samples', ({ samples }) => samples.length, formatCount),
];

/** The CPU time of each row, operation or call. */
function cpuEach(record: CompletedRecord): number | undefined {
  const seconds = medianOf(record, processCpuOf);
  return seconds === undefined || itemsOf(record) === 0 ? undefined : seconds / itemsOf(record);
}

function numbers(
  title: string,
  amountOf: (record: CompletedRecord) => number | undefined,
  format: (value: number) => string,
): RecordColumn {
  const textOf = (record: CompletedRecord): string => {
    const value = amountOf(record);
    return value === undefined ? UNKNOWN : format(value);
  };
  return { title, textOf, amountOf, isWide: true };
}

/** The addresses of the rows of completed records on the page. */
export function anchorsOf(records: readonly RunRecord[]): (id: string) => string | undefined {
  const anchors = new Map(completedOf(records).map(({ id }, index) => [id, `record-${index + 1}`]));
  return (id) => anchors.get(id);
}

export function recordsTable(records: readonly RunRecord[], anchorOf: (id: string) => string | undefined): Markup {
  const completed = completedOf(records);
  if (completed.length === 0) return markup`<p>No cell was measured.</p>`;
  // A column that says nothing of any cell is left out, and so is the engine if there is only one.
  const columns = COLUMNS.filter(({ title, textOf }) => {
    const texts = new Set(completed.map(textOf));
    return !(texts.has(UNKNOWN) && texts.size === 1) && !(title === 'Engine' && texts.size === 1);
  });
  const sides = [...new Set(completed.map(({ side }) => side))];
  return markup`
<form class="filters" hidden>
<label>Filter by words <input type="search" id="filter-words" autocomplete="off"></label>
<label>Side <select id="filter-side"><option value="">all</option>${sides.map((side) => markup`<option>${side}</option>`)}</select></label>
<output id="filter-count" class="quiet">${completed.length} records</output>
</form>
<div class="scroll" role="group" aria-label="All records" tabindex="0">
<table id="records">
<thead><tr>${columns.map((column) => markup`<th scope="col" class="${classOf(column)}">${column.title}</th>`)}</tr></thead>
<tbody>
${completed.map((record) => rowOf(record, columns, anchorOf(record.id)))}
</tbody>
</table>
</div>${completed.some(isClosedLoop) ? markup`<p class="quiet">${CLOSED_LOOP_NOTE}</p>` : undefined}${noVerdictNotes(completed).map((note) => markup`<p class="quiet">${note}</p>`)}`;
}

function rowOf(record: CompletedRecord, columns: readonly RecordColumn[], anchor: string | undefined): Markup {
  const cells = columns.map((column) => {
    const { textOf, amountOf } = column;
    const value = amountOf?.(record);
    const sorted = value === undefined ? undefined : markup` data-value="${value}"`;
    return markup`<td class="${classOf(column)}"${sorted}>${textOf(record)}</td>`;
  });
  return markup`<tr id="${anchor}" title="${record.id}" data-side="${record.side}">${cells}</tr>\n`;
}

function classOf({ amountOf, isWide }: RecordColumn): string {
  return [...(amountOf === undefined ? [] : ['number']), ...(isWide === true ? ['wide'] : [])].join(' ');
}

/** The cells without samples: failures first, each reason with the cells that it is of. */
export function unfinishedList(records: readonly RunRecord[]): Markup {
  const unfinished = records.flatMap((record) => {
    if (record.outcome === 'completed') return [];
    return [{ id: record.id, outcome: record.outcome, reason: reasonOf(record) }];
  });
  if (unfinished.length === 0) return markup`<p>Every cell was measured.</p>`;
  const groups = groupBy(unfinished, ({ outcome, reason }) => JSON.stringify([outcome, reason])).toSorted(
    ([a], [b]) => Number(b!.outcome === 'failed') - Number(a!.outcome === 'failed'),
  );
  return markup`${groups.map((group) => {
    const { outcome, reason } = group[0]!;
    const cells = group.length === 1 ? '1 cell' : `${group.length} cells`;
    return markup`<details><summary>${cells} ${outcome}: ${reason}</summary><ul>${group.map(({ id }) => markup`<li>${id}</li>`)}</ul></details>\n`;
  })}`;
}
