import { setImmediate as nextTurn } from 'node:timers/promises';
import { quantile } from '../stats/quantile.js';
import { type RatioInterval, ratioOfForks } from '../stats/ratio-interval.js';

/** A loop compared with itself: on a quiet machine the ratio is 1, with a narrow interval. */
export interface Noise extends RatioInterval {
  readonly samples: number;
  /** The distance of the 5th and the 95th percentile of the samples, as a part of their median. */
  readonly spread: number;
  /** The seconds of one execution of the loop, in the median. */
  readonly loopSeconds: number;
}

/** The parts of a probe, in each of which both loops take turns: what lasts longer than one of them shows as a difference of parts. */
const ROUNDS = 10;

/** The seconds of one sample: short enough to be undisturbed most of the time. */
const SAMPLE_SECONDS = 2e-3;

/** The numbers that the loop adds. They fit into the cache of a core. */
const VALUES = Float64Array.from({ length: 4096 }, (_, index) => index);

/** Times a small loop against itself for a number of seconds. The event loop turns between the rounds, so that a signal can end it. */
export async function probeNoise(seconds: number, signal: AbortSignal): Promise<Noise> {
  const repeats = calibrated();
  const [odd, even]: [number[][], number[][]] = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    await nextTurn();
    signal.throwIfAborted();
    const [a, b]: [number[], number[]] = [[], []];
    const until = now() + seconds / ROUNDS;
    do {
      // Each is first every other time.
      const [first, second] = a.length % 2 === 0 ? [a, b] : [b, a];
      first.push(timed(repeats));
      second.push(timed(repeats));
    } while (now() < until);
    odd.push(a);
    even.push(b);
  }
  const all = [...odd, ...even].flat();
  return {
    ...ratioOfForks(odd, even),
    samples: all.length,
    spread: (quantile(all, 0.95) - quantile(all, 0.05)) / quantile(all, 0.5),
    loopSeconds: quantile(all, 0.5) / repeats,
  };
}

/** How often the loop is repeated in one sample. It is compiled by then. */
function calibrated(): number {
  let repeats = 1;
  while (timed(repeats) < SAMPLE_SECONDS) repeats *= 2;
  return repeats;
}

function timed(repeats: number): number {
  const start = now();
  let sum = 0;
  for (let repeat = 0; repeat < repeats; repeat++) {
    for (let index = 0; index < VALUES.length; index++) sum += VALUES[index]!;
  }
  const seconds = now() - start;
  // The sum is used, so that no compiler leaves the loop out.
  return sum > 0 ? seconds : Number.NaN;
}

function now(): number {
  return performance.now() / 1000;
}
