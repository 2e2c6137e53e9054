/** The answer of a run: one line per workload, and the inconclusive comparisons. The advice is the same as in run.md. */
import { completedOf, groupBy, isRequestWork, recordsById } from '../../compare/cell-groups.js';
import type { CompletedRecord, Run } from '../../records/record.js';
import { adviceFor, isOpen } from '../advice.js';
import { isCall } from '../call-table.js';
import { isCrossing, otherCrossingLines } from '../crossing-lines.js';
import { formatRateOf } from '../format.js';
import { factorOf, isDecided } from '../factor.js';
import { type Pair, pairsOf } from '../head-to-head.js';
import { requestAdviceFor } from '../request-advice.js';
import { nameAndBatchOf } from '../request-tables.js';
import { placeOf } from './contests.js';

export interface Answers {
  /** The advice, by engine in the order of the run. */
  readonly lines: readonly { readonly engine: string; readonly advice: readonly string[] }[];
  /** The best of both sides, one line each, if the run is inconclusive about which is faster. */
  readonly undecided: readonly string[];
}

export function answersOf(run: Run): Answers {
  const completed = completedOf(run.records);
  const pairs = pairsOf(run.comparisons, 'best', recordsById(completed));
  const engines = groupBy(completed, ({ engine }) => engine);
  return {
    lines: engines.flatMap((records) => {
      const { engine } = records[0]!;
      const calls = pairs
        .filter(({ node }) => node.engine === engine && isCall(node) && !isCrossing(node))
        .map(callAdvice);
      const advice = [
        ...adviceFor(run, engine),
        ...requestAdviceFor(run, engine),
        ...otherCrossingLines(records),
        ...calls,
      ];
      return advice.length === 0 ? [] : [{ engine, advice }];
    }),
    undecided: pairs.filter(({ comparison, node }) => isOpen(comparison) && !isCrossing(node)).map(undecidedText),
  };
}

/** The line of work that is calls, of which the other advice says nothing. */
function callAdvice({ comparison, rust, node }: Pair): string {
  const factor = `${isDecided(comparison) ? 'the Rust factor is ' : ''}${factorOf(comparison)}`;
  return `${placeOf(node)}: from Node use ${named(node)}; compared with ${named(rust)} in Rust: ${factor}.`;
}

function undecidedText({ comparison, rust, node }: Pair): string {
  return `${placeOf(node)}: ${named(rust)} in Rust or ${named(node)}: ${factorOf(comparison)}.`;
}

function named(record: CompletedRecord): string {
  const name = isRequestWork(record) ? nameAndBatchOf(record) : record.variant;
  return `${name.replace(/^rust · /, '')} (${formatRateOf(record)})`;
}
