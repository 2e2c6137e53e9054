/** The table of bench/lab/mitata.mjs. */
import { tableBlock, tableOf } from '../../dist/report/document.js';
import { formatDuration } from '../../dist/report/format.js';

export function mitataTable(functions) {
  const theirs = ({ mitata: [before, after] }) => Math.sqrt(before * after);
  return tableBlock(
    tableOf(functions, [
      { title: 'Function', of: ({ name }) => name },
      { title: '>Boundary Bench', of: ({ ours }) => formatDuration(ours) },
      { title: '>mitata', of: (each) => formatDuration(theirs(each)) },
      { title: '>Ratio', of: (each) => (each.ours / theirs(each)).toFixed(2) },
      { title: '>mitata, after / before', of: ({ mitata: [before, after] }) => (after / before).toFixed(2) },
    ]),
  );
}
