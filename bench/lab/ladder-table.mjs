// The table of bench/lab/ladder.mjs.
import { columns, tableBlock } from '../../dist/report/document.js';

/** The time of a call by the number of calls in a sample that was asked for. */
export function ladderTable(ladder) {
  const ids = ladder[0].cells.map(({ id }) => id);
  return tableBlock({
    columns: columns('>Calls', ...ids.map((id) => `>${id}`)),
    rows: ladder.map(({ calls, cells }) => [
      String(calls),
      ...ids.map((id) => {
        const cell = cells.find((each) => each.id === id);
        return cell === undefined
          ? '—'
          : `${(cell.seconds * 1e9).toPrecision(3)} ns${cell.noVerdict ? ' (no verdict)' : ''}`;
      }),
    ]),
  });
}
