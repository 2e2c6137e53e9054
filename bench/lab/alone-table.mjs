/** The table of bench/lab/alone.mjs. */
import { tableBlock, tableOf } from '../../dist/report/document.js';
import { median } from '../../dist/stats/quantile.js';

/** How far apart the rates of cells are: alone and in turns, and in turns twice. */
export function aloneTable(cells) {
  const inTurns = ({ before, after }) => Math.sqrt(before * after);
  const compared = [
    { what: 'alone, and in turns', ratios: cells.map((cell) => cell.alone / inTurns(cell)) },
    { what: 'in turns, before and after', ratios: cells.map(({ before, after }) => after / before) },
  ];
  const percent = (part) => `${(part * 100).toFixed(1)}%`;
  return tableBlock(
    tableOf(compared, [
      { title: 'Compared', of: ({ what }) => what },
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
