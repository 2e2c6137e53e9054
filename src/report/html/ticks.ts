/** The ticks of logarithmic axes. They are few and round, and exist even if an axis covers less than a power of ten. */

/** From coarse to fine: the factors before the powers of ten. */
const STEPS = [
  [1],
  [1, 3],
  [1, 2, 5],
  [1, 1.5, 2, 3, 5, 7],
  [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9],
  [1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2, 2.25, 2.5, 3, 3.5, 4, 4.5, 5, 5.5, 6, 6.5, 7, 7.5, 8, 8.5, 9, 9.5],
];

/** The most ticks on an axis of a figure. */
const MOST = 6;

/** Round values within a domain, at most `most`: as many of them as one of the steps gives. */
export function logTicks([low, high]: readonly [number, number], most = MOST): number[] {
  const ticks = STEPS.map((mantissas) => ticksOf(mantissas, low, high)).filter(({ length }) => length <= most);
  const found = ticks.at(-1) ?? [];
  if (found.length > 0) return found;
  // Even the powers of ten are too many.
  const powers = ticksOf([1], low, high);
  const every = Math.ceil(powers.length / most);
  return powers.filter((_, index) => index % every === 0);
}

function ticksOf(mantissas: readonly number[], low: number, high: number): number[] {
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    for (const mantissa of mantissas) {
      const tick = Number((mantissa * 10 ** power).toPrecision(3));
      if (tick >= low && tick <= high) ticks.push(tick);
    }
  }
  return ticks;
}

/** Values that are less, or greater than its inverse, are no measurements, and have no place on an axis. */
const TINIEST = 1e-18;

/** The domain of positive values with a margin at each end, and at least as wide as `least`. */
export function logDomain(values: readonly number[], least?: readonly [number, number]): [number, number] {
  const all = [...values, ...(least ?? [])].filter((value) => value > TINIEST && value < 1 / TINIEST);
  if (all.length === 0) return [0.5, 2];
  const [low, high] = [all.reduce((a, b) => Math.min(a, b)), all.reduce((a, b) => Math.max(a, b))];
  const margin = Math.max((high / low) ** 0.05, 1.02);
  return [low / margin, high * margin];
}

/** Round values from 0 up to the end of a linear domain, at most six. */
export function linearTicks([, high]: readonly [number, number]): number[] {
  const power = 10 ** Math.floor(Math.log10(high));
  const step = [0.2, 0.5, 1, 2].map((factor) => factor * power).find((step) => high / step < MOST)!;
  return Array.from({ length: Math.floor(high / step) + 1 }, (_, index) => Number((index * step).toPrecision(6)));
}
