// The table of what the knees and jumps of the cost model are good for.
import { MOST_BENDS, fitCosts } from '../../dist/model/fit.js';
import { tableBlock, tableOf } from '../../dist/report/document.js';
import { formatPercent } from '../../dist/report/format.js';
import { RIGHT } from '../../dist/report/model-table.js';
import { median } from '../../dist/stats/quantile.js';

/**
 * The differences of predicted from measured times, of cells that were not fitted, by the most knees and jumps that a mechanism may have.
 * The costs are fitted again to the measured times that a model keeps. `crossingOf` is what crosses in a call of a cell.
 */
export function bendsTable({ mechanisms }, crossingOf) {
  const rows = Array.from({ length: MOST_BENDS + 1 }, (_, most) => ({
    most,
    Crossings: differences(
      mechanisms.filter(({ client }) => client !== undefined),
      crossingOf,
      most,
    ),
    Floors: differences(
      mechanisms.filter(({ client }) => client === undefined),
      crossingOf,
      most,
    ),
  }));
  return tableBlock(
    tableOf(rows, [
      { title: 'Knees and jumps', of: ({ most }) => (most === 0 ? 'none, a straight line' : `at most ${most}`) },
      ...columnsOf('Crossings'),
      ...columnsOf('Floors'),
    ]),
  );
}

function columnsOf(kind) {
  return [
    {
      title: `>${kind} within ${formatPercent(RIGHT)}`,
      of: ({ [kind]: all }) => `${all.filter((each) => each <= RIGHT).length} of ${all.length}`,
    },
    { title: '>Median difference', of: ({ [kind]: all }) => formatPercent(median(all)) },
    { title: '>Worst', of: ({ [kind]: all }) => formatPercent(Math.max(...all)) },
  ];
}

function differences(mechanisms, crossingOf, mostBends) {
  return mechanisms.flatMap(({ fitted, heldOut }) => {
    const calls = [...fitted, ...heldOut].map(({ id, measured }) => ({
      id,
      crossing: crossingOf(id),
      seconds: [[measured], [measured]],
    }));
    const fit = fitCosts(calls, mostBends);
    if (typeof fit === 'string') throw new Error(fit);
    return fit.heldOut.map(({ measured, predicted }) => Math.abs(predicted / measured - 1));
  });
}
