/** The table of bench/lab/mitata.mjs. */
import { tableBlock, tableOf } from '../../dist/report/document.js';
import { formatDuration } from '../../dist/report/format.js';
import { median } from '../../dist/stats/quantile.js';

/** The times of calls by both, and the medians of their ratios: a round has one process of each, one right after the other. */
export function mitataTable(functions) {
  const time = (pick) => (each) => formatDuration(median(each.rounds.map(pick)));
  const ratio = (pick) => (each) => median(each.rounds.map(({ ours, mitata }) => pick(ours) / pick(mitata))).toFixed(2);
  return tableBlock(
    tableOf(functions, [
      { title: 'Function', of: ({ name }) => name },
      { title: '>Boundary Bench', of: time(({ ours }) => ours.median) },
      { title: '>mitata', of: time(({ mitata }) => mitata.median) },
      { title: '>Ratio', of: ratio((times) => times.median) },
      { title: '>Ratio of the shortest', of: ratio((times) => times.shortest) },
    ]),
  );
}
