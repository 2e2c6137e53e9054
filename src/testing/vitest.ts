/** Matchers for vitest, and for other test runners whose `expect.extend` is Jest's. */
import type { MatcherState } from 'vitest';

import { invalidArgument } from '../errors.js';
import { describeValue } from '../library/crossing/describe-value.js';
import {
  type OptionChecks,
  checkBoolean,
  checkNumber,
  checkOptionNames,
  readOptions,
} from '../library/crossing/options.js';
import { checkText } from '../library/crossing/well-formed.js';
import { formatDuration, formatFactor, formatFactorInterval } from '../report/format.js';
import type { ComparedWays } from './compare-ways.js';

export * from './compare-ways.js';

/** How a matcher decides. */
export interface FasterOptions {
  /** The way that is to be faster. Default: the other one of two ways. */
  readonly way?: string;
  /** How many times as fast it is to be, at least. Default: 1. */
  readonly by?: number;
  /** Whether the matcher fails also if the interval does not decide. Default: false. */
  readonly strict?: boolean;
}

/** The most that a way may take, named as in a file of budgets. */
export type WayBudget = {
  /** Whether the matcher fails also if the interval does not decide. Default: false. */
  readonly strict?: boolean;
} & (
  | {
      /** The most seconds of a call. They hold on one machine. */
      readonly maximumSeconds: number;
    }
  | {
      /** The way that it is compared with. */
      readonly over: string;
      /** The most that its time may be of the time of `over`: 0.5 demands twice as fast. It holds on any machine. */
      readonly maximumRatio: number;
    }
);

/** The answer of a matcher to its test runner. */
export interface MatcherResult {
  readonly pass: boolean;
  readonly message: () => string;
}

/**
 * The matchers, for `expect.extend(matchers)`:
 *
 * - `expect(await compareWays({ js, napi })).toBeFasterThan('js', { by: 1.2 })` fails if the whole interval of the ratio is below
 *   `by`, and with `strict` if a part of it is.
 * - `expect(...).toBeWithinBudget('napi', { over: 'js', maximumRatio: 0.5 })`, or `{ maximumSeconds: 0.002 }`, fails if the whole
 *   interval of the time is beyond the budget, and with `strict` if a part of it is.
 *
 * With `.not`, the other side is the wrong one: `.not.toBeFasterThan('js')` fails if the whole interval is above 1. Too few blocks
 * fail only with `strict`.
 *
 * @example
 * ```js
 * import { compareWays } from 'boundary-bench/bench';
 * import { matchers } from 'boundary-bench/vitest';
 *
 * // In a test: expect.extend(matchers); expect(compared).toBeFasterThan('all', { by: 1.2 });
 * const texts = Array.from({ length: 1000 }, (_, id) => `{"id":${id}}`);
 * const compared = await compareWays(
 *   { none: () => texts.length, all: () => texts.map((text) => JSON.parse(text)).length },
 *   { budgetMs: 300 },
 * );
 * console.log(matchers.toBeFasterThan(compared, 'all').pass); // true
 * ```
 */
export const matchers = {
  toBeFasterThan(this: unknown, received: ComparedWays, other: string, options: FasterOptions = {}): MatcherResult {
    const { by = 1, strict = false, way = onlyOther(received, other) } = readOptions(options, FASTER);
    const ratio = received.ratioOf(way, other);
    const pass = (strict === isNegated(this) ? ratio.high : ratio.low) >= by;
    const times = `${way} ${formatDuration(received.secondsOf(way))} a call, ${other} ${formatDuration(received.secondsOf(other))}`;
    return {
      pass,
      message: () =>
        tooFewText(received) ??
        `${way} is ${formatFactorInterval(ratio)} as fast as ${other}, which is to be ${pass ? 'below' : 'at least'} ${by}× (${times}; ${received.blocks} blocks)`,
    };
  },

  toBeWithinBudget(this: unknown, received: ComparedWays, way: string, budget: WayBudget): MatcherResult {
    checkOptionNames(budget, BUDGET_NAMES, 'the budget');
    const { strict = false } = budget;
    const isTime = 'maximumSeconds' in budget;
    const maximum = requirePositive(budget, isTime ? 'maximumSeconds' : 'maximumRatio');
    // The ratio of times is the inverse of the ratio of speeds.
    const { ratio, low, high } = isTime ? received.timeOf(way) : received.ratioOf(budget.over, way);
    const show = isTime ? formatDuration : (value: number) => formatFactor(value);
    const of = isTime ? 'a call' : `the time of ${budget.over}`;
    const pass = (strict === isNegated(this) ? low : high) <= maximum;
    return {
      pass,
      message: () =>
        tooFewText(received) ??
        `${way} takes ${show(ratio)} (${show(low)} to ${show(high)}) ${of}, which is to be ${pass ? 'above' : 'at most'} ${show(maximum)} (${received.blocks} blocks)`,
    };
  },
};

const FASTER: OptionChecks<FasterOptions> = { way: checkText, by: checkNumber, strict: checkBoolean };

const BUDGET_NAMES = { strict: '', maximumSeconds: '', over: '', maximumRatio: '' };

declare module 'vitest' {
  interface Matchers<T = any> {
    /** Fails if the whole interval says that a way is not `by` times as fast as `other`. */
    toBeFasterThan(other: string, options?: FasterOptions): void;
    /** Fails if the whole interval of the time of a way is beyond its budget. */
    toBeWithinBudget(way: string, budget: WayBudget): void;
  }
}

/** Whether a matcher stands after `.not`, by the state that its test runner calls it with. */
function isNegated(state: unknown): boolean {
  return (state as Partial<MatcherState> | undefined)?.isNot === true;
}

/** The calls of each way for which the recommended budget has the time. */
const ENOUGH_CALLS = 12;

/** Why a comparison of too few blocks decides nothing. `undefined` for other comparisons. */
function tooFewText(received: ComparedWays): string | undefined {
  if (!received.hasTooFewBlocks) return undefined;
  const seconds = received.ways.reduce((sum, way) => sum + received.secondsOf(way), 0);
  const enough = Number((1000 * ENOUGH_CALLS * seconds).toPrecision(2));
  return `too few blocks were measured for a verdict (${received.blocks}); give compareWays more time: { budgetMs: ${Math.ceil(enough)} }`;
}

function requirePositive(budget: WayBudget, name: 'maximumSeconds' | 'maximumRatio'): number {
  const value = (budget as Partial<Record<typeof name, number>>)[name];
  if (typeof value === 'number' && value > 0 && value < Infinity) return value;
  throw invalidArgument(`${name} must be a positive number, not ${describeValue(value)}`, {
    hint: "A budget is { maximumSeconds: 0.002 } or { over: 'js', maximumRatio: 0.5 }.",
  });
}

function onlyOther({ ways }: ComparedWays, other: string): string {
  const [way, ...rest] = ways.filter((name) => name !== other);
  if (way !== undefined && rest.length === 0) return way;
  throw invalidArgument(
    `of the ways ${ways.join(', ')}, say which is to be faster than ${describeValue(other)}: { way: '...' }`,
  );
}
