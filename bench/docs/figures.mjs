/** The figures that sentences quote from a run, and the figures that stand in a sentence by hand. */
import { recordsById } from '../../dist/compare/cell-groups.js';
import { judgeOf } from '../../dist/compare/judge.js';
import { formatDuration, formatFactorInterval, formatLatency, formatRateOf } from '../../dist/report/format.js';
import { itemsOf } from '../../dist/records/record.js';
import { newestRun } from './runs.mjs';

/** The kinds of figures of one cell, with their formats. */
const OF_A_CELL = {
  rate: formatRateOf,
  time: ({ summary }) => formatDuration(summary.medianSeconds),
  row: (record) => formatDuration(record.summary.medianSeconds / itemsOf(record)),
  p50: ({ latency }) => formatLatency(latency.p50),
  p99: ({ latency }) => formatLatency(latency.p99),
};

/** A speed, a factor or a short time. A sentence must have it from a run and not by hand. */
const FIGURE_BY_HAND = /\d\s?(?:×|x\b|[KMG]?\/s\b|[KMG] \w+\/s\b|ns\b|[uµ]s\b)/u;

/**
 * The text of `KIND | RUN | CELL`, of `lane | RUN | CELL | VERDICT` or of `ratio | RUN | CELL | CELL | VERDICT`. Throws
 * if the run has no such cell or another verdict.
 */
export function figureText(marker) {
  const [kind, runKind, ...rest] = marker.split('|').map((part) => part.trim());
  const run = newestRun(runKind);
  const find = recordsById(run.records);
  const cell = (id) => {
    const record = find(id);
    if (record === undefined) throw new Error(`the run "${runKind}" has no completed cell ${id}`);
    return record;
  };
  if (kind === 'lane') return compared(laneRatio(run, cell(rest[0]).id), rest[1], marker);
  if (kind === 'ratio') return compared(judgeOf(run)(cell(rest[0]), cell(rest[1])), rest[2], marker);
  const format = OF_A_CELL[kind];
  if (format === undefined) throw new Error(`no figure is a "${kind}"`);
  return format(cell(rest[0]));
}

/** The figures by hand in the prose of a page, outside of generated text and code. */
export function figuresByHand(page) {
  const prose = page
    .replaceAll(/<!-- (table|figure): [^]*?<!-- \/\1 -->/g, '')
    .replaceAll(/^```[^]*?^```$/gm, '')
    .replaceAll(/`[^`\n]*`/g, '');
  return prose.split('\n').filter((line) => FIGURE_BY_HAND.test(line));
}

/** The comparison of a Node cell with its Rust lane, as the run has it. */
function laneRatio(run, id) {
  const lane = run.comparisons.find(({ kind, numerator }) => kind === 'lane' && numerator === id);
  if (lane === undefined) throw new Error(`the run compares ${id} with no lane of Rust`);
  return lane;
}

function compared(ratio, expected, marker) {
  const { verdict } = ratio;
  if (expected === undefined) {
    return `${verdict === 'inconclusive' ? 'inconclusive ' : ''}${formatFactorInterval(ratio)}`;
  }
  if (verdict !== expected) throw new Error(`the run says "${verdict}", the sentence "${expected}": ${marker}`);
  return formatFactorInterval(ratio);
}
