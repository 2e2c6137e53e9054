// The table of bench/lab/peers.mjs, and the sentences below it.
import { groupBy } from '../../dist/compare/cell-groups.js';
import { columns, list, paragraph, tableBlock } from '../../dist/report/document.js';
import { shownRate, shownRatio } from './in-turn.mjs';

/** The least part of the fastest rate of a client that one of its cells must reach. */
const LEAST = 0.9;

/** The name of an insert like the one before it, but within one transaction. */
export const AT_ONCE = 'the same in one transaction';

const fastest = (ways) => ways.reduce((best, one) => (one.rate > best.rate ? one : best));

/** The ways whose client has only cells that are too slow, each with the fastest of these cells. */
export function unfairWays(results) {
  return groupBy(results, ({ task, peer }) => `${task} ${peer}`).flatMap((ways) => {
    const cells = ways.filter(({ isCell }) => isCell);
    if (cells.length === 0 || fastest(cells).rate >= LEAST * fastest(ways).rate) return [];
    return [{ way: fastest(ways), cell: fastest(cells) }];
  });
}

/** The rate of each way, and what the ways say. */
export function peersBlocks({ results, versions, node }) {
  const table = tableBlock({
    columns: columns('Task', 'Client', 'Way', '>Items/s', '>/ fastest', '>Slices', 'Cell'),
    rows: results.map(({ task, peer, way, isCell, rate, slices }) => {
      const { rate: most } = fastest(results.filter((other) => other.task === task));
      return [task, peer, way, shownRate(rate), shownRatio(rate, most), String(slices), isCell ? 'yes' : '—'];
    }),
  });
  const unfair = unfairWays(results).map(
    ({ way, cell }) =>
      `${way.task}: the fastest cell of ${way.peer} is at ${shownRatio(cell.rate, way.rate)} of "${way.way}".`,
  );
  const atOnce = results.flatMap(({ task, way, rate }, place) =>
    way === AT_ONCE
      ? [`${task}, all rows or none: ${shownRatio(rate, results[place - 1].rate)} of the rate without a transaction.`]
      : [],
  );
  const fair = ['Each client with cells has one within 10 % of its fastest way.'];
  const versionList = Object.entries(versions).map((version) => version.join(' '));
  return [
    ...table,
    paragraph(`On Node.js ${node}: ${versionList.join(', ')}.`),
    ...list([...atOnce, ...(unfair.length === 0 ? fair : unfair)]),
  ];
}
