/** The advice lines of request work. Every figure comes from the records, and nothing else is claimed. */
import { completedOf, fastestOf, groupBy, isBatched, isRequestWork } from '../compare/cell-groups.js';
import { isNodeSide } from '../compare/comparisons.js';
import { type Judge, judgeOf } from '../compare/judge.js';
import { addonOverJavaScript } from '../compare/sides.js';
import type { CompletedRecord, Run } from '../records/record.js';
import { rateOf } from '../stats/summary.js';
import { bestPair, cautionOn, isOpen, openText, recommended, rustInstead } from './advice.js';
import { UNKNOWN, formatFactor, formatFactorInterval, formatShortRate } from './format.js';
import { loadParts } from './labels.js';
import { isNativeClient } from './native-clients.js';
import { isClosedLoop, percentileText } from './percentile.js';
import { nameAndBatchOf } from './request-tables.js';

/**
 * One line per workload that a Node cell completed on `engine` over one transport, with the most connections measured, and one more for
 * batches.
 */
export function requestAdviceFor(run: Run, engine: string): string[] {
  const cells = completedOf(run.records).filter((record) => record.engine === engine && isRequestWork(record));
  const node = cells.filter(({ side }) => isNodeSide(side));
  const ofOne = (record: CompletedRecord): string => {
    const { family, workload, transport } = record;
    return JSON.stringify([family, workload, transport, isBatched(record)]);
  };
  return groupBy(node, ofOne).flatMap((ofWorkload) => {
    const most = Math.max(...ofWorkload.map(({ connections = 1 }) => connections));
    const rivals = ofWorkload.filter(({ connections = 1 }) => connections === most);
    return adviceOn(run, cells, rivals);
  });
}

function adviceOn(run: Run, cells: readonly CompletedRecord[], rivals: readonly CompletedRecord[]): string[] {
  const judge = judgeOf(run);
  const best = recommended(run, rivals, judge);
  if (best === undefined) return [];
  const pair = bestPair(run, rivals);
  const clauses = [
    choice(best, rivals, judge),
    pushingDownWon(best, cells, judge),
    pair && rustInstead(pair, best, shortNameOf),
  ];
  const advice = clauses.filter((clause) => clause !== undefined).join('; ');
  const over = best.transport === undefined ? '' : ` (${best.transport})`;
  const subject = [`${best.workload} on ${best.engine}${over}`, ...loadParts(best)].join(', ');
  return [`${subject}: ${advice}.${cautionOn(best)}`];
}

function choice(best: CompletedRecord, rivals: readonly CompletedRecord[], judge: Judge): string {
  const p99 = percentileText(best, 'p99');
  const latency = p99 === UNKNOWN ? '' : `, ${isClosedLoop(best) ? 'closed-loop ' : ''}p99 ${p99}`;
  const named = `${shortNameOf(best)} (${formatShortRate(rateOf(best))}${latency})`;
  const sides = addonOverJavaScript(rivals, judge);
  if (sides === undefined) return `from Node use ${named}`;
  const { addon, javaScript, judged } = sides;
  const [ours, theirs] = [
    `the addon's ${shortNameOf(addon)}`,
    isNativeClient(javaScript) ? shortNameOf(javaScript) : `JavaScript's ${shortNameOf(javaScript)}`,
  ];
  const isAddon = best.id === addon.id;
  // The best of all may be of another size of batches.
  const isCompared = isAddon || best.id === javaScript.id;
  const use = `from Node use ${named}`;
  const stay = isNativeClient(javaScript) ? `${use}: it` : `stay in JavaScript: ${named}`;
  switch (judged.verdict) {
    case 'faster':
      return `${use}${isAddon ? ',' : `; ${ours} is`} ${formatFactor(judged.ratio)} ${theirs}`;
    case 'equivalent':
      return `${isCompared ? `${stay} is as fast as ${ours}` : `${use}; ${ours} is as fast as ${theirs}`}, at ${formatFactorInterval(judged)}`;
    case 'slower': {
      const factor = formatFactor(1 / judged.ratio);
      return isCompared ? `${stay} is ${factor} ${ours}` : `${use}; ${theirs} is ${factor} ${ours}`;
    }
    case 'inconclusive':
    case 'server-bound':
      return `${use}; ${openText(`${isAddon ? 'it' : ours} is faster than ${theirs}`, judged)}`;
  }
}

/** For work that the server can do: the factor by which that beats pulling the rows. */
function pushingDownWon(best: CompletedRecord, cells: readonly CompletedRecord[], judge: Judge): string | undefined {
  const pulling = best.workload.replace(/\.push_down$/, '.pull');
  if (pulling === best.workload) return undefined;
  const pulled = fastestOf(
    cells.filter(
      (cell) =>
        cell.workload === pulling &&
        isNodeSide(cell.side) &&
        cell.transport === best.transport &&
        isBatched(cell) === isBatched(best),
    ),
  );
  const judged = pulled && judge(best, pulled);
  if (pulled === undefined || judged === undefined) return undefined;
  const than = `pulling the rows (${shortNameOf(pulled)})`;
  if (isOpen(judged)) return openText(`it is faster than ${than}`, judged);
  return judged.verdict === 'faster'
    ? `it is ${formatFactor(judged.ratio)} ${than}`
    : `it is no faster than ${than}, at ${formatFactorInterval(judged)}`;
}

/** The name without its side, since the sentence contains the side. */
function shortNameOf(record: CompletedRecord): string {
  return nameAndBatchOf(record).replace(/^\w+ · /, '');
}
