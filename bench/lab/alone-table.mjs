/** The table of bench/lab/alone.mjs. */
import { tableBlock, tableOf } from '../../dist/report/document.js';
import { median } from '../../dist/stats/quantile.js';

/**
 * How far apart the times of a cell's process are: alone, beside processes that wait, and in turns with them. A ratio
 * is the median over the cycles. The time alone of a cycle is the geometric mean of the times before and after it.
 */
export function aloneTable(cells) {
  const bothAlone = ({ alone }, cycle) => Math.sqrt(alone[cycle] * alone[cycle + 1]);
  const beside = (times, cell) => median(times.map((seconds, cycle) => seconds / bothAlone(cell, cycle)));
  // The control: a time alone that has others before and after it.
  const inner = ({ alone }) =>
    median(alone.slice(1, -1).map((seconds, index) => seconds / Math.sqrt(alone[index] * alone[index + 2])));
  const compared = [
    { what: 'while others wait / alone', ratios: cells.map((cell) => beside(cell.whileOthersWait, cell)) },
    { what: 'in turns / alone', ratios: cells.map((cell) => beside(cell.inTurns, cell)) },
    { what: 'alone / alone', ratios: cells.map(inner) },
  ];
  const percent = (part) => `${(part * 100).toFixed(1)}%`;
  return tableBlock(
    tableOf(compared, [
      { title: 'Times', of: ({ what }) => what },
      { title: '>Cells', of: ({ ratios }) => String(ratios.length) },
      { title: '>Median ratio', of: ({ ratios }) => median(ratios).toFixed(3) },
      { title: '>Apart, median', of: ({ ratios }) => percent(median(ratios.map(distance))) },
      { title: '>Apart, at most', of: ({ ratios }) => percent(Math.max(...ratios.map(distance))) },
    ]),
  );
}

/** How far a ratio is from 1, in either direction. */
function distance(ratio) {
  return Math.max(ratio, 1 / ratio) - 1;
}
