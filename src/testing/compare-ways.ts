/** A comparison of functions within a test: in one process, in turns, until it is decided or its time is over. */
import { invalidArgument } from '../errors.js';
import { describeValue } from '../library/crossing/describe-value.js';
import { checkFunction, requireOptions } from '../library/crossing/options.js';
import { riskOfLooks } from '../compare/rate-ratio.js';
import { called, calledLater, forgetResults, isPromise } from '../families/own/calls.js';
import { DEFAULT_TOLERANCE, canonicalOf, differenceOf } from '../families/own/equal.js';
import type { Verdict } from '../records/record.js';
import { seededDraws, shuffled } from '../stats/random.js';
import { median } from '../stats/quantile.js';
import { DEFAULT_MARGIN, type RatioInterval, verdictOf } from '../stats/ratio-interval.js';
import { ratioInTurns } from '../stats/ratio-in-turns.js';

/** How a comparison is made. */
export interface CompareWaysOptions {
  /** The time in milliseconds after which it ends, decided or not. Default: 2000. */
  readonly budgetMs?: number;
  /** The relative difference up to which two ways are equivalent. Default: 0.05. */
  readonly margin?: number;
  /** The relative difference up to which two numbers in results are the same. Default: 1e-9. */
  readonly tolerance?: number;
}

/** The ratio of the speeds of two ways, with its interval of 95%. */
export interface WaysRatio extends RatioInterval {
  readonly verdict: Verdict;
}

/** The result of a comparison. */
export interface ComparedWays {
  /** The names of the ways, as they were given. */
  readonly ways: readonly string[];
  /** The blocks that were measured, in each of which each way took one sample. */
  readonly blocks: number;
  /** The median time of a call of a way, in seconds. Throws `BB_INVALID_ARGUMENT` for a name that is none. */
  secondsOf(way: string): number;
  /** The same with its interval of 95%: the geometric mean of the blocks, in seconds. Throws as `secondsOf` does. */
  timeOf(way: string): RatioInterval;
  /**
   * How many times as fast as `other` a way is. Its verdict is about `way`. Throws `BB_INVALID_ARGUMENT` for a name that is none.
   */
  ratioOf(way: string, other: string): WaysRatio;
}

/** Does the work of a way once, and returns its result, or a promise of it. */
export type TestedWay = () => unknown;

/** The least time of a sample, in seconds. */
const SAMPLE_SECONDS = 5e-3;
/** The part of the budget that warming up takes, at most. */
const WARM_UP_PART = 0.3;
const DEFAULT_BUDGET_MS = 2000;

/** The numbers of blocks after which a comparison is looked at. */
const LOOKS = [6, 12, 24, 48];

/**
 * Compares functions that do the same work, in this process. They take turns, sample by sample in random order. This ends when all
 * of them are told apart from the first, or shown to be equivalent to it, or when the budget ends. All must return the same, by
 * deep equality.
 *
 * Functions of one process change each other a little: what V8 learns of one of them, and its garbage. `boundary-bench run`
 * measures each in processes of its own. For a test that fails if a function got clearly slower, this is enough.
 *
 * Throws a `BoundaryError` with the code `BB_INVALID_ARGUMENT` for arguments that make no sense, and for results that differ. Also
 * throws what a way throws.
 *
 * @example
 * ```js
 * import { compareWays } from 'boundary-bench/bench';
 *
 * const numbers = Array.from({ length: 1000 }, (_, index) => index);
 * const compared = await compareWays(
 *   { spread: () => Math.max(...numbers), reduce: () => numbers.reduce((most, number) => Math.max(most, number)) },
 *   { budgetMs: 300 },
 * );
 * const { ratio, low, high, verdict } = compared.ratioOf('spread', 'reduce');
 * console.log(low <= ratio && ratio <= high, verdict !== undefined); // true true
 * ```
 */
export async function compareWays(
  ways: Readonly<Record<string, TestedWay>>,
  options: CompareWaysOptions = {},
): Promise<ComparedWays> {
  requireOptions(options);
  const { budgetMs = DEFAULT_BUDGET_MS, margin = DEFAULT_MARGIN, tolerance = DEFAULT_TOLERANCE } = options;
  for (const [name, value] of Object.entries({ budgetMs, margin, tolerance })) {
    if (!(Number.isFinite(value) && value >= 0)) {
      throw invalidArgument(`${name} must be a number of 0 or more, not ${describeValue(value)}`);
    }
  }
  const names = Object.keys(requireWays(ways));
  const until = performance.now() + budgetMs;
  await requireSame(ways, tolerance);
  const contestants: Contestant[] = [];
  for (const name of names) {
    const end = performance.now() + (WARM_UP_PART * budgetMs) / names.length;
    contestants.push(await warmed(ways[name]!, end));
  }
  const result = new Compared(names, contestants, margin);
  const draw = seededDraws(names.length);
  for (let block = 1; block <= LOOKS.at(-1)!; block += 1) {
    for (const contestant of shuffled(contestants, draw)) contestant.seconds.push(await sampleOf(contestant));
    if (performance.now() > until) break;
    if (LOOKS.includes(block) && result.isDecided) break;
  }
  return result;
}

function requireWays(ways: Readonly<Record<string, TestedWay>>): Readonly<Record<string, TestedWay>> {
  if (typeof ways !== 'object' || ways === null) {
    throw invalidArgument(`ways must be an object of functions by their names, not ${describeValue(ways)}`);
  }
  for (const [name, way] of Object.entries(ways)) checkFunction(`the way ${name}`, way);
  if (Object.keys(ways).length < 2) throw invalidArgument('a comparison needs at least two ways');
  return ways;
}

async function requireSame(ways: Readonly<Record<string, TestedWay>>, tolerance: number): Promise<void> {
  const [[first, reference], ...others] = Object.entries(ways) as [[string, TestedWay], ...[string, TestedWay][]];
  const expected = await reference();
  if (expected === undefined) {
    throw invalidArgument(`the way ${first} returned nothing`, {
      hint: 'Return the result, so that it can be compared.',
    });
  }
  const canonical = canonicalOf(expected);
  for (const [name, way] of others) {
    const difference = differenceOf(canonicalOf(await way()), canonical, tolerance);
    if (difference !== undefined)
      throw invalidArgument(`the ways ${name} and ${first} do not return the same: ${difference}`);
  }
}

/** A way that is warm, with its samples. */
interface Contestant {
  readonly way: TestedWay;
  readonly isLater: boolean;
  readonly repeats: number;
  /** The seconds of a call in each sample. */
  readonly seconds: number[];
}

async function warmed(way: TestedWay, end: number): Promise<Contestant> {
  const first = way();
  const isLater = isPromise(first);
  await first;
  let repeats = 1;
  do {
    const seconds = await timed(way, isLater, repeats);
    const wanted = SAMPLE_SECONDS / Math.max(seconds, 1e-9);
    if (wanted > 1) repeats = Math.ceil(repeats * Math.min(wanted * 1.1, 10));
  } while (performance.now() < end);
  return { way, isLater, repeats, seconds: [] };
}

async function sampleOf({ way, isLater, repeats }: Contestant): Promise<number> {
  return (await timed(way, isLater, repeats)) / repeats;
}

async function timed(way: TestedWay, isLater: boolean, repeats: number): Promise<number> {
  const startedAt = performance.now();
  if (isLater) await calledLater(way, undefined, repeats);
  else called(way, undefined, repeats);
  const seconds = (performance.now() - startedAt) / 1000;
  forgetResults();
  return seconds;
}

class Compared implements ComparedWays {
  readonly ways: readonly string[];
  readonly #contestants: readonly Contestant[];
  readonly #margin: number;

  constructor(ways: readonly string[], contestants: readonly Contestant[], margin: number) {
    this.ways = ways;
    this.#contestants = contestants;
    this.#margin = margin;
  }

  get blocks(): number {
    return this.#contestants[0]!.seconds.length;
  }

  /** Whether the first way is told apart from all others, or equivalent to them. */
  get isDecided(): boolean {
    const [first, ...others] = this.ways;
    return others.every((other) => this.ratioOf(first!, other).verdict !== 'inconclusive');
  }

  secondsOf(way: string): number {
    return median(this.#of(way));
  }

  timeOf(way: string): RatioInterval {
    return ratioInTurns([this.#of(way)], { risk: riskOfLooks(LOOKS.length) });
  }

  ratioOf(way: string, other: string): WaysRatio {
    const [mine, others] = [this.#of(way), this.#of(other)];
    const interval = ratioInTurns([mine.map((seconds, block) => others[block]! / seconds)], {
      risk: riskOfLooks(LOOKS.length),
    });
    return { ...interval, verdict: verdictOf(interval, this.#margin) };
  }

  #of(way: string): readonly number[] {
    const index = this.ways.indexOf(way);
    if (index < 0) throw invalidArgument(`there is no way ${describeValue(way)}; the ways are ${this.ways.join(', ')}`);
    return this.#contestants[index]!.seconds;
  }
}
