/** The table of bench/lab/rust-alone.mjs. */
import { tableBlock, tableOf } from '../../dist/report/document.js';
import { formatFactorInterval } from '../../dist/report/format.js';

export function rustAloneTable(results) {
  return tableBlock(
    tableOf(results, [
      { title: 'Cell', of: ({ name }) => name },
      { title: '>Time alone / time within Node', of: (result) => formatFactorInterval(result) },
    ]),
  );
}
