/** The first table of a page: the best of each side for each workload, as rates with bars. */
import { groupBy } from '../../compare/cell-groups.js';
import type { Judged } from '../../compare/judge.js';
import type { CompletedRecord, RatioInterval, Run, Side } from '../../records/record.js';
import { inverseRatio } from '../factor.js';
import { formatFactorInterval } from '../format.js';
import { rateOf } from '../../stats/summary.js';
import {
  type WorkloadAnswer,
  answerSides,
  bestRateText,
  otherTitle,
  workloadAnswersOf,
  workloadText,
} from '../workload-answers.js';
import { type Markup, markup } from './markup.js';
import { SIDE_STYLES } from './side-style.js';

/** A table for each engine, in the order of the run. Nothing if no side was compared with another. */
export function answerTable(run: Run): Markup | undefined {
  const answers = workloadAnswersOf(run).filter(({ best }) => Object.keys(best).length > 1);
  if (answers.length === 0) return undefined;
  const tables = groupBy(answers, ({ node }) => node.engine).map((ofEngine) => {
    const [{ node }] = ofEngine as [WorkloadAnswer];
    const shown = answerSides(ofEngine).filter(([side]) => ofEngine.some(({ best }) => best[side] !== undefined));
    const hasBoth = ofEngine.some(({ addon }) => addon !== undefined);
    return markup`<div class="scroll" role="group" aria-label="The fastest way of each side, ${node.engine}" tabindex="0"><table class="sides stacks">
<thead><tr><th scope="col">${node.engine}</th>${shown.map(([, title]) => markup`<th scope="col" class="number">${title}</th>`)}<th scope="col">${RUST_AND_NODE}</th>${hasBoth ? markup`<th scope="col">${addonTitle(ofEngine)}</th>` : undefined}</tr></thead>
<tbody>${ofEngine.map((answer) => rowOf(answer, shown, hasBoth))}</tbody>
</table></div>
`;
  });
  return markup`${tables}<p class="quiet">${NOTE}</p>`;
}

const RUST_AND_NODE = 'Rust compared with Node';

function addonTitle(answers: readonly WorkloadAnswer[]): string {
  return `Addon compared with the ${otherTitle(answers).toLowerCase()}`;
}

const NOTE =
  'The best way of each side, as its rate. ★ marks the fastest side, or both if they are equivalent. A line at ' +
  'the end of a bar is the 95% interval relative to the best from Node.';

function rowOf(answer: WorkloadAnswer, shown: ReturnType<typeof answerSides>, hasBoth: boolean): Markup {
  const most = Math.max(...Object.values(answer.best).map(rateOf));
  const cells = shown.map(([side, title]) => {
    const record = answer.best[side];
    const text = bestRateText(answer, side);
    if (record === undefined) return markup`<td class="number" data-of="${title}">${text}</td>`;
    const bar = barOf(rateOf(record) / most, intervalOf(answer, side, most), SIDE_STYLES[side].color);
    return markup`<td class="number" data-of="${title}" title="${record.variant}">${text}${bar}</td>`;
  });
  const rust = verdictCell(RUST_AND_NODE, answer.rust?.comparison);
  const addon = hasBoth ? verdictCell(addonTitle([answer]), answer.addon?.judged) : undefined;
  return markup`<tr><th scope="row">${workloadText(answer.node)}</th>${cells}${rust}${addon}</tr>
`;
}

/** The interval of a side's rate, as a part of the highest rate. Nothing for the side that the others are compared with. */
function intervalOf(
  { node, rust, addon, best }: WorkloadAnswer,
  side: Side,
  most: number,
): Pick<RatioInterval, 'low' | 'high'> | undefined {
  if (side === 'rust') return rust && scaled(rust.comparison, rateOf(node) / most);
  // The pair that is compared may be another than the best of each side: both have the same batches.
  if (side === node.side || addon === undefined || best[side]?.id !== recordOf(addon, side).id) return undefined;
  const ratio = side === 'napi' ? addon.judged : inverseRatio(addon.judged);
  return scaled(ratio, rateOf(recordOf(addon, side === 'napi' ? 'js' : 'napi')) / most);
}

function recordOf({ addon, javaScript }: NonNullable<WorkloadAnswer['addon']>, side: 'napi' | 'js'): CompletedRecord {
  return side === 'napi' ? addon : javaScript;
}

function scaled({ low, high }: RatioInterval, scale: number): Pick<RatioInterval, 'low' | 'high'> {
  return { low: low * scale, high: high * scale };
}

const WIDTH = 100;
/** Room for intervals beyond the highest rate. */
const MOST_PART = 1.25;

function barOf(part: number, interval: Pick<RatioInterval, 'low' | 'high'> | undefined, color: string): Markup {
  const at = (value: number): string => ((Math.min(value, MOST_PART) / MOST_PART) * WIDTH).toFixed(1);
  const line =
    interval === undefined
      ? undefined
      : markup`<path d="M${at(interval.low)} 4H${at(interval.high)}" stroke="var(--ink)" stroke-width="1.5"/>`;
  return markup`<svg class="bar" viewBox="0 0 ${WIDTH} 8" preserveAspectRatio="none" aria-hidden="true"><path d="M0 1H${at(part)}V7H0Z" fill="${color}"/>${line}</svg>`;
}

function verdictCell(compared: string, judged: Judged | undefined): Markup {
  if (judged === undefined) return markup`<td></td>`;
  return markup`<td class="verdict" data-of="${compared}">${judged.verdict}: ${formatFactorInterval(judged)}</td>`;
}
