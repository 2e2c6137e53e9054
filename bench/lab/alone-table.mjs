/** The table of bench/lab/alone.mjs. */
import { tableBlock, tableOf } from '../../dist/report/document.js';
import { median } from '../../dist/stats/quantile.js';

/** How far apart the times of a cell's process are: alone, beside processes that wait, in turns with them, and alone again. */
export function aloneTable(cells) {
  const bothAlone = ({ alone, aloneAgain }) => Math.sqrt(alone * aloneAgain);
  const compared = [
    { what: 'while others wait / alone', ratios: cells.map((cell) => cell.whileOthersWait / bothAlone(cell)) },
    { what: 'in turns / alone', ratios: cells.map((cell) => cell.inTurns / bothAlone(cell)) },
    { what: 'alone again / alone', ratios: cells.map(({ alone, aloneAgain }) => aloneAgain / alone) },
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
