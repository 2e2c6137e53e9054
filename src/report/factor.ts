/** The texts of a ratio and its verdict in reports, in tables and in sentences. */
import type { Judged, Judge } from '../compare/judge.js';
import {
  type Comparison,
  type RatioInterval,
  type Verdict,
  NOOP,
  noopLaneOf,
  type CompletedRecord,
  itemsOf,
} from '../records/record.js';
import { DEFAULT_MARGIN, verdictOf } from '../stats/ratio-interval.js';
import type { Tone } from './document.js';
import { formatFactor, formatFactorInterval, formatDuration, formatPercent } from './format.js';
import { median } from '../stats/quantile.js';

/** The direction of every factor between Rust and Node. */
export const RUST_FACTOR_NOTE = "Rust factor: Rust's rate divided by the Node side's. Above 1, Rust is faster.";

/** The same of CPU time. */
export const CPU_FACTOR_NOTE =
  "CPU factor: the CPU time of the Node side's process, of all its threads, divided by Rust's CPU time for the same work. Above 1, Rust takes less.";

/** The mark of a pair whose faster side takes more CPU time, and its explanation. */
export const CPU_DISAGREES = ' (more CPU)';
export const CPU_DISAGREES_NOTE =
  '(more CPU): the side that is faster takes more CPU time. It works on more threads at once, or leaves out of its time what others count.';

/** A factor with its interval, after the verdict if it is neither faster nor slower: `inconclusive 0.98× (0.90–1.06)`. */
export function factorOf(judged: Judged): string {
  const factor = formatFactorInterval(judged);
  return isDecided(judged) ? factor : `${judged.verdict} ${factor}`;
}

/** The sign of a verdict if there is no room for the word. */
const SIGNS: Readonly<Partial<Record<Verdict, string>>> = { equivalent: '≈', inconclusive: '?' };

/** The same as `factorOf` with a sign for the word. `signNotes` explains the sign. */
export function shortFactorOf(judged: Judged): string {
  const sign = SIGNS[judged.verdict];
  return sign === undefined ? factorOf(judged) : `${sign} ${formatFactorInterval(judged)}`;
}

/** The same without the interval. */
export function shortestFactorOf(judged: Judged): string {
  const sign = SIGNS[judged.verdict];
  return `${sign === undefined ? '' : `${sign} `}${formatFactor(judged.ratio)}`;
}

/** The explanation of the signs for the verdicts that are shown. */
export function signNotes(verdicts: readonly Verdict[]): string[] {
  return (Object.keys(SIGNS) as Verdict[]).flatMap((verdict) =>
    verdicts.includes(verdict) ? [`${SIGNS[verdict]} stands for ${verdict}.`] : [],
  );
}

/** The tone of the text of a verdict, or of a factor after its verdict, for terminals with colors. */
export function toneOf(text: string): Tone | undefined {
  if (/^(?:[?≈]|inconclusive|equivalent|server-bound)/u.test(text)) return 'open';
  if (text.startsWith('faster')) return 'good';
  if (/^(?:slower|regression)/.test(text)) return 'bad';
  const factor = Number.parseFloat(text);
  return Number.isNaN(factor) ? undefined : factor < 1 ? 'bad' : 'good';
}

/** Whether a comparison says which of the two is faster. */
export function isDecided({ verdict }: Pick<Judged, 'verdict'>): boolean {
  return verdict === 'faster' || verdict === 'slower';
}

/** Whether a comparison is inconclusive or server-bound. */
export function isOpen({ verdict }: Pick<Judged, 'verdict'>): boolean {
  return verdict === 'inconclusive' || verdict === 'server-bound';
}

/** The verdict of the other direction. */
export function inverseVerdict(verdict: Verdict): Verdict {
  return verdict === 'faster' ? 'slower' : verdict === 'slower' ? 'faster' : verdict;
}

/** A ratio in the other direction. */
export function inverseRatio({ ratio, low, high }: RatioInterval): RatioInterval {
  return { ratio: 1 / ratio, low: 1 / high, high: 1 / low };
}

/** A comparison in the other direction. */
export function inverseOf<C extends Judged>(comparison: C): C {
  const { verdict, cpu } = comparison;
  return {
    ...comparison,
    ...inverseRatio(comparison),
    verdict: inverseVerdict(verdict),
    ...(cpu === undefined ? {} : { cpu: inverseRatio(cpu) }),
  };
}

/** The verdict by CPU time after the factor of wall time, if it tells what the wall time can't: `, by CPU time: slower, 0.46× (0.41–0.51)`. */
export function byCpuTime(cpu: RatioInterval | undefined, margin = DEFAULT_MARGIN): string {
  if (cpu === undefined || verdictOf(cpu, margin) === 'inconclusive') return '';
  return `, by CPU time: ${verdictOf(cpu, margin)}, ${formatFactorInterval(cpu)}`;
}

/** Whether the two sides of a comparison are decided, and the faster one takes more CPU time. */
export function doTimesDisagree(
  { verdict, cpu }: Pick<Comparison, 'verdict' | 'cpu'>,
  margin = DEFAULT_MARGIN,
): boolean {
  if (cpu === undefined || !isDecided({ verdict })) return false;
  return verdictOf(cpu, margin) === inverseVerdict(verdict);
}

/** The clause that a sentence about a comparison adds if the faster side takes more CPU time. Otherwise nothing. */
export function cpuClause(comparison: Pick<Comparison, 'verdict' | 'cpu'>): string {
  const { cpu } = comparison;
  if (cpu === undefined || !doTimesDisagree(comparison)) return '';
  return `, but ${formatFactor(cpu.ratio)} by CPU time`;
}

/** The sentences of the ways of a run: which part of a call is the crossing, the work and the garbage, as far as the run tells. */
export function attributionTexts(records: readonly CompletedRecord[], judge: Judge): string[] {
  return records.flatMap((record) => {
    const { side, lane, engine, workload, noVerdict } = record;
    if (engine === NOOP || side === 'rust' || noVerdict !== undefined) return [];
    const beside = records.filter((other) => other.workload === workload && other.family === record.family);
    const twin = beside.find((other) => other.engine === NOOP && other.lane === noopLaneOf(lane));
    if (twin === undefined) return [];
    const rust = beside.find((other) => other.side === 'rust' && other.engine !== NOOP);
    const parts = [
      partOf('crossing', record, twin, judge),
      rust && partOf('the work in Rust', record, rust, judge),
      garbageOf(record),
    ].filter((part) => part !== undefined);
    const time = formatDuration(record.summary.medianSeconds / itemsOf(record));
    return [`${workload}: a call of ${record.variant} takes ${time}: ${parts.join(', ')}.`];
  });
}

/** The part of the time of a call that another way takes for itself, with its interval. */
function partOf(what: string, record: CompletedRecord, other: CompletedRecord, judge: Judge): string | undefined {
  // The rate of the call divided by the rate of the other is the time of the other divided by the time of the call.
  const judged = judge(record, other);
  if (judged === undefined || judged.noVerdict !== undefined) return undefined;
  const [part, low, high] = [judged.ratio, judged.low, judged.high].map(formatPercent);
  // A part is at most the whole: what is measured to be more is noise.
  return judged.ratio > 1 ? `${what}: can't tell (${low}–${high})` : `${what} ${part} (${low}–${high})`;
}

function garbageOf({ samples }: CompletedRecord): string | undefined {
  const parts = samples.flatMap(({ seconds, gcSeconds }) => (gcSeconds === undefined ? [] : [gcSeconds / seconds]));
  return parts.length === 0 ? undefined : `garbage ${formatPercent(median(parts))}`;
}
