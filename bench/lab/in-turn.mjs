import { exposeCollector } from '../../dist/collect-garbage.js';
import { GarbageBetween } from '../../dist/runner/garbage-collection.js';
import { median } from '../../dist/stats/quantile.js';
import { seededDraws, shuffled } from '../../dist/stats/random.js';

/** Calls every side once per round, and returns the median of each side's answers, under the side's name. */
export async function mediansInTurn(sides, rounds) {
  const rates = await ratesInTurn(sides, rounds);
  return Object.fromEntries(Object.entries(rates).map(([name, values]) => [name, median(values)]));
}

/** Calls every side once per round, and returns each side's answers of all rounds, under the side's name. */
export async function ratesInTurn(sides, rounds) {
  const names = Object.keys(sides);
  const values = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    // In alternating order, so that a machine that slows down favours none.
    const order = round % 2 === 1 ? names.toReversed() : names;
    for (const name of order) values[name].push(await sides[name]());
  }
  return values;
}

/** A rate as people read it, such as `12,345`. */
export const shownRate = (rate) => Math.round(rate).toLocaleString('en-US');

/** A rate next to another one, such as `0.93×`. */
export const shownRatio = (rate, other) => `${(rate / other).toFixed(2)}×`;

/** The milliseconds of a slice. Work that takes longer is not cut. */
export const SLICE_MS = 100;

/** The rounds of slices before the rounds that count, and the fewest rounds that count. */
const [WARM_UP_ROUNDS, LEAST_ROUNDS] = [2, 5];

/**
 * The garbage of slices. All of it is collected only if there is much: that drops compiled code, and the next 100 ms
 * would include its compilation.
 */
export const garbageOfSlices = () => new GarbageBetween(exposeCollector());

/** Takes slices in rounds of random order, for some seconds. Each of `slices` takes one, and returns a rate. Returns the rates of each. */
export async function slicesInTurn(slices, seconds) {
  const [draw, garbage] = [seededDraws(Date.now()), garbageOfSlices()];
  const rates = slices.map(() => []);
  const end = performance.now() + 1000 * seconds;
  for (let round = -WARM_UP_ROUNDS; round < LEAST_ROUNDS || performance.now() < end; round += 1) {
    for (const place of shuffled([...slices.keys()], draw)) {
      await garbage.clear();
      const rate = await slices[place]();
      if (round >= 0) rates[place].push(rate);
    }
  }
  return rates;
}
