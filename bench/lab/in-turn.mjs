import { median } from '../../dist/stats/quantile.js';

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
