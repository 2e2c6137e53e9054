/** Matchers for vitest, and for other test runners whose `expect.extend` is Jest's. */
import { invalidArgument } from '../errors.js';
import { describeValue } from '../library/crossing/describe-value.js';
import { formatDuration, formatFactorInterval } from '../report/format.js';
import type { ComparedWays } from './compare-ways.js';

export * from './compare-ways.js';

/** How a matcher decides. */
export interface FasterOptions {
  /** The way that is to be faster. Default: the other one of two ways. */
  readonly way?: string;
  /** How many times as fast it is to be, at least. Default: 1. */
  readonly by?: number;
  /** Whether the matcher fails also where the interval does not decide. Default: false. */
  readonly strict?: boolean;
}

/** What a matcher tells its test runner. */
export interface MatcherResult {
  readonly pass: boolean;
  readonly message: () => string;
}

/**
 * The matchers, for `expect.extend(matchers)`:
 *
 * - `expect(await compareWays({ js, napi })).toBeFasterThan('js', { by: 1.2 })` fails where the whole interval of the ratio is below `by`, and
 *   with `strict` where a part of it is.
 */
export const matchers = {
  toBeFasterThan(received: ComparedWays, other: string, options: FasterOptions = {}): MatcherResult {
    const { by = 1, strict = false } = options;
    const way = options.way ?? onlyOther(received, other);
    const ratio = received.ratioOf(way, other);
    const pass = strict ? ratio.low >= by : ratio.high >= by;
    const times = `${way} ${formatDuration(received.secondsOf(way))} a call, ${other} ${formatDuration(received.secondsOf(other))}`;
    return {
      pass,
      message: () =>
        `${way} is ${formatFactorInterval(ratio)} as fast as ${other}, which is to be ${pass ? 'below' : 'at least'} ${by}× (${times}; ${received.blocks} blocks)`,
    };
  },
};

function onlyOther({ ways }: ComparedWays, other: string): string {
  const [way, ...rest] = ways.filter((name) => name !== other);
  if (way !== undefined && rest.length === 0) return way;
  throw invalidArgument(
    `of the ways ${ways.join(', ')}, say which is to be faster than ${describeValue(other)}: { way: '...' }`,
  );
}
