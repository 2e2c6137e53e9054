// The table of bench/lab/method.mjs.
import { groupBy } from '../../dist/compare/cell-groups.js';
import { columns, paragraph, tableBlock } from '../../dist/report/document.js';
import { median } from '../../dist/stats/quantile.js';

/** One row per machine and method: wrong verdicts, differences that were found, widths of intervals, and the time. */
export function methodTable(results) {
  return tableBlock({
    columns: columns(
      'Machine',
      'Method',
      '>Equal: wrong verdicts',
      '>Equal: shown',
      '>Equal: width',
      '>3% found',
      '>10% found',
      '>Twice found',
      '>By CPU time: equal, wrong',
      '>By CPU time: 10% found',
      '>Bimodal: wrong',
      'Warming up',
      'Empty',
      '>Processes',
      '>Seconds',
    ),
    rows: groupBy(results, ({ machine, method }) => `${machine} ${method}`).map(rowOf),
  });
}

function rowOf(runs) {
  const all = (kind) => runs.flatMap(({ found }) => found[kind]);
  const count = (verdicts, wanted) =>
    `${verdicts.filter((verdict) => wanted.includes(verdict)).length} of ${verdicts.length}`;
  const of = (kind, ...wanted) =>
    count(
      all(kind).map(({ outcome }) => outcome),
      wanted,
    );
  const byCpu = (kind, ...wanted) =>
    count(
      all(kind).flatMap((found) => found.byCpu ?? []),
      wanted,
    );
  const widths = all('equal').flatMap(({ width }) => width ?? []);
  return [
    runs[0].machine,
    runs[0].method,
    of('equal', 'faster', 'slower'),
    of('equal', 'equivalent'),
    `${(Math.expm1(median(widths)) * 100).toFixed(1)}%`,
    of('plus 3 %', 'faster'),
    of('plus 10 %', 'faster'),
    of('times 2', 'faster'),
    byCpu('equal', 'faster', 'slower'),
    byCpu('plus 10 %', 'faster'),
    of('bimodal', 'faster', 'slower'),
    words(all('warming')),
    words(all('empty')),
    String(median(runs.map(({ processes }) => processes))),
    median(runs.map(({ seconds }) => seconds)).toFixed(0),
  ];
}

/** The outcomes with their numbers: `4 faster, 1 still-warming-up`. */
function words(outcomes) {
  return groupBy(outcomes, ({ outcome }) => outcome)
    .map((same) => `${same.length} ${same[0].outcome}`)
    .join(', ');
}

/** The note below the table: the number of runs, and the meaning of two columns. */
export function methodNotes(results) {
  const runs = Math.max(
    ...groupBy(results, ({ machine, method }) => `${machine} ${method}`).map(({ length }) => length),
  );
  return paragraph(
    `${runs} runs per row. Width: the median width of the intervals of equal cells, from the low to the high end. Shown: the verdict is equivalent.`,
  );
}
