/** A comparison of functions within a test: in one process, in turns, until it is decided or its time is over. */
import { invalidArgument } from '../errors.js';
import { describeValue } from '../library/crossing/describe-value.js';
import { type OptionChecks, checkFunction, checkNumber, readOptions } from '../library/crossing/options.js';
import { riskOfLooks } from '../compare/rate-ratio.js';
import { called, calledLater, forgetResults, isPromise } from '../families/own/calls.js';
import { suggestion } from '../closest-word.js';
import { type Canonical, DEFAULT_TOLERANCE, canonicalOf, differenceOf } from '../families/own/equal.js';
import { type Reader, checkRead, isPlain, readInFull, reading } from '../families/own/plain.js';
import type { Verdict } from '../records/record.js';
import { seededDraws, shuffled } from '../stats/random.js';
import { median } from '../stats/quantile.js';
import { sumOf } from '../stats/sum.js';
import { DEFAULT_MARGIN, type RatioInterval, verdictOf } from '../stats/ratio-interval.js';
import { ratioInTurns } from '../stats/ratio-in-turns.js';

/** How a comparison is made. */
export interface CompareWaysOptions {
  /**
   * The time in milliseconds after which no further call begins. All calls count. Each way is called once in any case, to compare the
   * results. Default: 2000.
   */
  readonly budgetMs?: number;
  /** The relative difference up to which two ways are equivalent. Default: 0.05. */
  readonly margin?: number;
  /** The relative difference up to which two numbers in results are the same. Default: 1e-9. */
  readonly tolerance?: number;
  /**
   * Reads a result. It is a part of each timed call, and must return the same for all ways. The results themselves may then differ.
   * Absent: plain data is not read, and any other result is read in full within each call.
   */
  readonly read?: (result: any) => number;
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
  /** Whether these are too few for a verdict: all intervals are then without end. A larger `budgetMs` measures more. */
  readonly hasTooFewBlocks: boolean;
  /** The ways of which each call reads its result in full, since the result is no plain data. */
  readonly readInFull: readonly string[];
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

/** The fewest blocks that say how much blocks differ. */
const FEWEST_BLOCKS = 3;

/** The numbers of blocks after which a comparison is looked at. */
const LOOKS = [6, 12, 24, 48];

/**
 * Compares functions that do the same work, in this process. They take turns, sample by sample in random order. This ends when all
 * of them are told apart from the first, or shown to be equivalent to it, or when the budget ends. All must return the same, by
 * deep equality. Fewer than three blocks give no verdict.
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
  const checked = readOptions(options, CHECKS);
  const { budgetMs = DEFAULT_BUDGET_MS, margin = DEFAULT_MARGIN, tolerance = DEFAULT_TOLERANCE } = checked;
  requireWays(ways);
  const until = performance.now() + budgetMs;
  const contestants = await contestantsOf(ways, tolerance, checked.read);
  for (const contestant of contestants) {
    // The one call of a slow way has warmed it up.
    if (performance.now() + LOOKS[0]! * blockMs(contestants) > until) break;
    const end = performance.now() + (WARM_UP_PART * budgetMs) / contestants.length;
    do await sampleOf(contestant);
    while (performance.now() + 1000 * contestant.leastSeconds < end);
  }
  const result = new Compared(contestants, margin);
  const draw = seededDraws(contestants.length);
  for (let block = 1; block <= LOOKS.at(-1)!; block += 1) {
    if (performance.now() + blockMs(contestants) > until) break;
    const samples: [Contestant, number][] = [];
    for (const contestant of shuffled(contestants, draw)) {
      if (performance.now() > until) return result;
      samples.push([contestant, await sampleOf(contestant)]);
    }
    for (const [contestant, seconds] of samples) contestant.seconds.push(seconds);
    if (LOOKS.includes(block) && result.isDecided) break;
  }
  return result;
}

const CHECKS: OptionChecks<CompareWaysOptions> = {
  budgetMs: checkNumber,
  margin: checkNumber,
  tolerance: checkNumber,
  read: checkFunction,
};

function requireWays(ways: Readonly<Record<string, TestedWay>>): Readonly<Record<string, TestedWay>> {
  if (typeof ways !== 'object' || ways === null) {
    throw invalidArgument(`ways must be an object of functions by their names, not ${describeValue(ways)}`);
  }
  for (const [name, way] of Object.entries(ways)) checkFunction(`the way ${name}`, way);
  if (Object.keys(ways).length < 2) throw invalidArgument('a comparison needs at least two ways');
  return ways;
}

/** A way with its samples. */
interface Contestant {
  readonly name: string;
  readonly way: TestedWay;
  readonly isLater: boolean;
  readonly isReadInFull: boolean;
  /** The seconds of the call whose result was compared. */
  readonly firstSeconds: number;
  /** The seconds of the shortest sample, or of the first call: the machine may have disturbed the others. */
  leastSeconds: number;
  /** The calls of the next sample. */
  repeats: number;
  /** The seconds of a call in each sample. */
  readonly seconds: number[];
}

/** The time that a block takes at least, in milliseconds. */
function blockMs(contestants: readonly Contestant[]): number {
  return 1000 * sumOf(contestants.map(({ leastSeconds }) => leastSeconds));
}

/** Calls each way once. Throws `BB_INVALID_ARGUMENT` if they do not return the same. */
async function contestantsOf(
  ways: Readonly<Record<string, TestedWay>>,
  tolerance: number,
  read: Reader | undefined,
): Promise<Contestant[]> {
  const contestants: Contestant[] = [];
  let expected: Canonical | undefined;
  for (const [name, way] of Object.entries(ways)) {
    const [contestant, found] = await contestantOf(name, way, read);
    expected ??= found;
    const difference = differenceOf(found, expected, tolerance);
    if (difference !== undefined) {
      throw invalidArgument(`the ways ${name} and ${contestants[0]!.name} do not return the same: ${difference}`);
    }
    contestants.push(contestant);
  }
  return contestants;
}

async function contestantOf(name: string, way: TestedWay, read: Reader | undefined): Promise<[Contestant, Canonical]> {
  const startedAt = performance.now();
  const first = way();
  const isLater = isPromise(first);
  const result: unknown = await first;
  const found = read === undefined ? result : read(result as never);
  const firstSeconds = (performance.now() - startedAt) / 1000;
  if (read !== undefined) checkRead(name, found);
  if (found === undefined) {
    throw invalidArgument(`the way ${name} returned nothing`, {
      hint: 'Return the result, so that it can be compared.',
    });
  }
  const isReadInFull = read === undefined && !isPlain(result);
  const reader = isReadInFull ? readInFull : read;
  const call: (input?: unknown) => unknown = reader === undefined ? way : reading(way, reader, isLater);
  const times = { firstSeconds, leastSeconds: firstSeconds, repeats: 1, seconds: [] };
  return [{ name, way: call, isLater, isReadInFull, ...times }, canonicalOf(found)];
}

/** Takes a sample, and returns the seconds of a call. */
async function sampleOf(contestant: Contestant): Promise<number> {
  const { way, isLater, repeats } = contestant;
  const startedAt = performance.now();
  if (isLater) await calledLater(way, undefined, repeats);
  else called(way, undefined, repeats);
  const seconds = (performance.now() - startedAt) / 1000;
  forgetResults();
  contestant.leastSeconds = Math.min(contestant.leastSeconds, seconds);
  const wanted = SAMPLE_SECONDS / Math.max(seconds, 1e-9);
  if (wanted > 1) contestant.repeats = Math.ceil(repeats * Math.min(wanted * 1.1, 10));
  return seconds / repeats;
}

class Compared implements ComparedWays {
  readonly ways: readonly string[];
  readonly readInFull: readonly string[];
  readonly #contestants: readonly Contestant[];
  readonly #margin: number;

  constructor(contestants: readonly Contestant[], margin: number) {
    this.ways = contestants.map(({ name }) => name);
    this.readInFull = contestants.filter(({ isReadInFull }) => isReadInFull).map(({ name }) => name);
    this.#contestants = contestants;
    this.#margin = margin;
  }

  get blocks(): number {
    return this.#contestants[0]!.seconds.length;
  }

  get hasTooFewBlocks(): boolean {
    return this.blocks < FEWEST_BLOCKS;
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
    return this.#intervalOf(this.#of(way));
  }

  ratioOf(way: string, other: string): WaysRatio {
    const [mine, others] = [this.#of(way), this.#of(other)];
    const interval = this.#intervalOf(mine.map((seconds, block) => others[block]! / seconds));
    return { ...interval, verdict: verdictOf(interval, this.#margin) };
  }

  #intervalOf(ofBlocks: readonly number[]): RatioInterval {
    const interval = ratioInTurns([ofBlocks], { risk: riskOfLooks(LOOKS.length) });
    return this.hasTooFewBlocks ? { ...interval, low: 0, high: Infinity } : interval;
  }

  /** The seconds of a way in each block. Without a block: of the call whose result was compared. */
  #of(way: string): readonly number[] {
    const contestant = this.#contestants.find(({ name }) => name === way);
    if (contestant === undefined) {
      const close = suggestion(String(way), this.ways);
      throw invalidArgument(`there is no way ${describeValue(way)}; the ways are ${this.ways.join(', ')}${close}`);
    }
    const { seconds, firstSeconds } = contestant;
    return seconds.length === 0 ? [firstSeconds] : seconds;
  }
}
