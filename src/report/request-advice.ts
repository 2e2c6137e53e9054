/** The advice lines of request work. Every figure comes from the records, and nothing else is claimed. */
import { completedOf, fastestOf, groupBy, isRequestWork } from '../compare/cell-groups.js';
import { isNodeSide } from '../compare/comparisons.js';
import { type Judge, judgeOf } from '../compare/judge.js';
import { addonOverJavaScript } from '../compare/sides.js';
import type { CompletedRecord, Run } from '../records/record.js';
import { rateOf } from '../stats/summary.js';
import { bestPair, cautionOn, isOpen, openText, recommended, rustInstead } from './advice.js';
import { UNKNOWN, formatCount, formatFactor, formatFactorInterval, formatShortRate } from './format.js';
import { isNativeClient } from './native-clients.js';
import { isClosedLoop, percentileText } from './percentile.js';
import { nameAndBatchOf } from './request-tables.js';

/** One line per workload that a Node cell completed on `engine` over one transport, with the most connections measured. */
export function requestAdviceFor(run: Run, engine: string): string[] {
  const cells = completedOf(run.records).filter((record) => record.engine === engine && isRequestWork(record));
  const node = cells.filter(({ side }) => isNodeSide(side));
  const ofOne = ({ family, workload, transport }: CompletedRecord): string =>
    JSON.stringify([family, workload, transport]);
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
    batchingWon(run, best),
    pushingDownWon(best, cells, judge),
    oneAtATime(run, best, rivals, judge),
    pair && rustInstead(pair, best, shortNameOf),
  ];
  const advice = clauses.filter((clause) => clause !== undefined).join('; ');
  const connections = best.connections === 1 ? '1 connection' : `${best.connections} connections`;
  const over = best.transport === undefined ? '' : ` (${best.transport})`;
  return [`${best.workload} on ${best.engine}${over}, ${connections}: ${advice}.${cautionOn(best)}`];
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

function batchingWon(run: Run, best: CompletedRecord): string | undefined {
  const won = run.comparisons.find(({ kind, numerator }) => kind === 'batching' && numerator === best.id);
  if (won === undefined) return undefined;
  switch (won.verdict) {
    case 'faster':
      return `batching won ${formatFactor(won.ratio)}`;
    case 'equivalent':
    case 'slower':
      return `batching won nothing, at ${formatFactorInterval(won)}`;
    case 'inconclusive':
    case 'server-bound':
      return openText('batching wins', won);
  }
}

/** For work that the server can do: the factor by which that beats pulling the rows. */
function pushingDownWon(best: CompletedRecord, cells: readonly CompletedRecord[], judge: Judge): string | undefined {
  const pulling = best.workload.replace(/\.push_down$/, '.pull');
  if (pulling === best.workload) return undefined;
  const pulled = fastestOf(
    cells.filter(
      ({ workload, side, transport }) => workload === pulling && isNodeSide(side) && transport === best.transport,
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

/** The fastest cell of single operations, for users who can't wait for a batch. */
function oneAtATime(
  run: Run,
  best: CompletedRecord,
  rivals: readonly CompletedRecord[],
  judge: Judge,
): string | undefined {
  if (best.batch === 1) return undefined;
  const singles = rivals.filter(({ batch }) => batch === 1);
  const single = recommended(run, singles, judge);
  if (single === undefined) return undefined;
  const stay =
    single.side === 'js' && !isNativeClient(single) && singles.some(({ side }) => side === 'napi')
      ? ', so there stay in JavaScript'
      : '';
  const { connections = 1, processes = 1 } = single;
  // Each connection has a request in flight.
  const inFlight = connections * processes;
  const how = inFlight === 1 ? 'one at a time' : `with ${formatCount(inFlight)} single operations in flight`;
  return `${how} ${shortNameOf(single)} reaches ${formatShortRate(rateOf(single))}${stay}`;
}

/** The name without its side, since the sentence contains the side. */
function shortNameOf(record: CompletedRecord): string {
  return nameAndBatchOf(record).replace(/^\w+ · /, '');
}
