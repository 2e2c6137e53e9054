/** The advice lines of request work. Every figure comes from the records; nothing else is claimed. */
import { completedOf, contestOf, fastestOf, groupBy, isRequestWork } from '../compare/cell-groups.js';
import { isNodeSide } from '../compare/comparisons.js';
import { type Judge, judgeOf } from '../compare/judge.js';
import type { CompletedRecord, Run } from '../records/record.js';
import { rateOf } from '../stats/summary.js';
import { cautionOn, recommended } from './advice.js';
import { UNKNOWN, formatFactor, formatShortRate } from './format.js';
import { percentileText } from './percentile.js';
import { nameAndBatchOf } from './request-tables.js';

/** One line per workload that a Node cell completed on `engine` over one transport, with the most threads measured. */
export function requestAdviceFor(run: Run, engine: string): string[] {
  const cells = completedOf(run.records).filter((record) => record.engine === engine && isRequestWork(record));
  const node = cells.filter(({ side }) => isNodeSide(side));
  const ofOne = ({ family, workload, transport }: CompletedRecord): string =>
    JSON.stringify([family, workload, transport]);
  return groupBy(node, ofOne).flatMap((ofWorkload) => {
    const most = Math.max(...ofWorkload.map(({ threads = 1 }) => threads));
    const rivals = ofWorkload.filter(({ threads = 1 }) => threads === most);
    return adviceOn(run, cells, rivals);
  });
}

function adviceOn(run: Run, cells: readonly CompletedRecord[], rivals: readonly CompletedRecord[]): string[] {
  const judge = judgeOf(run);
  const best = recommended(rivals, judge);
  if (best === undefined) return [];
  const clauses = [
    choice(best, rivals, judge),
    batchingWon(run, best),
    pushingDownWon(best, cells, judge),
    oneAtATime(best, rivals, judge),
    rustInstead(
      best,
      cells.filter(({ side }) => side === 'rust'),
      judge,
    ),
  ];
  const advice = clauses.filter((clause) => clause !== undefined).join('; ');
  const threads = best.threads === 1 ? '1 thread' : `${best.threads} threads`;
  const over = best.transport === undefined ? '' : ` (${best.transport})`;
  return [`${best.workload} on ${best.engine}${over}, ${threads}: ${advice}.${cautionOn(best)}`];
}

function choice(best: CompletedRecord, rivals: readonly CompletedRecord[], judge: Judge): string {
  const p99 = percentileText(best, 'p99');
  const latency = p99 === UNKNOWN ? '' : `, p99 ${p99}`;
  const named = `${shortNameOf(best)} (${formatShortRate(rateOf(best))}${latency})`;
  const other = fastestOf(rivals.filter(({ side }) => side !== best.side));
  const judged = other && judge(best, other);
  if (other === undefined || judged === undefined) return `from Node use ${named}`;
  const than = `${best.side === 'js' ? "the addon's" : "JavaScript's"} ${shortNameOf(other)}`;
  const verb = best.side === 'js' ? 'stay in JavaScript:' : 'from Node use';
  switch (judged.verdict) {
    case 'faster':
      return best.side === 'js'
        ? `${verb} ${named} is ${formatFactor(judged.ratio)} ${than}`
        : `${verb} ${named}, ${formatFactor(judged.ratio)} ${than}`;
    case 'equivalent':
      return best.side === 'js' ? `${verb} ${named} is as fast as ${than}` : `${verb} ${named}`;
    case 'slower':
    case 'inconclusive':
      return `from Node use ${named}; that it is faster than ${than} is not shown`;
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
      return 'batching won nothing';
    case 'inconclusive':
      return undefined;
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
  if (pulled === undefined || judged === undefined || judged.verdict === 'inconclusive') return undefined;
  const than = `pulling the rows (${shortNameOf(pulled)})`;
  return judged.verdict === 'faster' ? `it is ${formatFactor(judged.ratio)} ${than}` : `it is no faster than ${than}`;
}

/** The fastest cell of single operations, for users who can't wait for a batch. */
function oneAtATime(best: CompletedRecord, rivals: readonly CompletedRecord[], judge: Judge): string | undefined {
  if (best.batch === 1) return undefined;
  const singles = rivals.filter(({ batch }) => batch === 1);
  const single = recommended(singles, judge);
  if (single === undefined) return undefined;
  const stay =
    single.side === 'js' && singles.some(({ side }) => side === 'napi') ? ', so there stay in JavaScript' : '';
  return `one at a time ${shortNameOf(single)} reaches ${formatShortRate(rateOf(single))}${stay}`;
}

function rustInstead(best: CompletedRecord, cells: readonly CompletedRecord[], judge: Judge): string | undefined {
  const rust = fastestOf(cells.filter((record) => contestOf(record) === contestOf(best)));
  const judged = rust && judge(rust, best);
  if (rust === undefined || judged === undefined) return undefined;
  switch (judged.verdict) {
    case 'equivalent':
      return 'Rust would be no faster';
    case 'slower':
      return `Rust would be slower, at ${formatFactor(judged.ratio)}`;
    case 'faster':
      return `Rust (${shortNameOf(rust)}) would be ${formatFactor(judged.ratio)} that`;
    case 'inconclusive':
      return undefined;
  }
}

/** The name without its side, which the sentence contains. */
function shortNameOf(record: CompletedRecord): string {
  return nameAndBatchOf(record).replace(/^\w+ · /, '');
}
