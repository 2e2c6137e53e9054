/** The tables of the files of results. ceiling-table.mjs, crossover.mjs and offered-load-table.mjs have others. */
import { tableBlock, tableOf, columns, paragraph, list } from '../../dist/report/document.js';
import { median } from '../../dist/stats/quantile.js';
import { MOST_BENDS, fitCosts } from '../../dist/model/fit.js';
import { formatPercent, formatDuration } from '../../dist/report/format.js';
import { RIGHT } from '../../dist/report/model-table.js';
import { groupBy } from '../../dist/compare/cell-groups.js';
import { shownRate, shownRatio } from './in-turn.mjs';

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

export function buildsTable(results) {
  const groups = groupBy(results, ({ machine, kind }) => `${machine} ${kind}`);
  const spread = (group, pick) => `${pick(...group.map(({ ratio }) => ratio)).toFixed(2)}×`;
  return tableBlock(
    tableOf(groups, [
      { title: 'Machine', of: ([{ machine }]) => machine },
      { title: 'New build', of: ([{ kind }]) => (kind === 'same' ? 'the same' : 'does its work twice') },
      {
        title: '>Called a regression',
        of: (group) => `${group.filter(({ regressed }) => regressed).length} of ${group.length}`,
      },
      { title: '>New / old', of: (group) => `${spread(group, Math.min)} to ${spread(group, Math.max)}` },
      { title: '>Seconds', of: (group) => median(group.map(({ seconds }) => seconds)).toFixed(0) },
    ]),
  );
}

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
