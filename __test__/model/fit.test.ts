import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type FittedCosts, fitCosts } from '../../src/model/fit.js';
import { BOUNDARY_MATRIX } from '../../src/families/boundary/matrix.js';
import { predictCall } from '../../src/model/predict.js';
import { dependenceOn, nonNegativeLeastSquares } from '../../src/model/least-squares.js';
import { PIECES, type Crossing, type Piece } from '../../src/records/record.js';
import { COSTS, LADDER, NAMED, SIZES, type TrueCosts, measured, rowsOf, timeOf } from './synthetic.js';

function fitted(...args: Parameters<typeof measured>): FittedCosts {
  const fit = fitCosts(measured(...args));
  if (typeof fit === 'string') throw new Error(fit);
  return fit;
}

/** The sizes of the ladders of bytes. */
const BYTE_SIZES = Object.values(BOUNDARY_MATRIX.workloads)
  .filter(({ crossing }) => crossing?.what === 'bytes' && crossing.direction === 'in' && crossing.isHeldOut !== true)
  .map(({ crossing }) => crossing!.bytes);

function bytesOf(bytes: number): Crossing {
  return { what: 'bytes', direction: 'in', rows: 0, numbers: 0, texts: 0, bytes };
}

function costOf({ costs }: FittedCosts, of: Piece): { seconds: number; low: number; high: number } {
  return costs.find((cost) => cost.of === of)!;
}

describe('least squares with no unknown below 0', () => {
  test('solve what can be solved', () => {
    const solution = nonNegativeLeastSquares(
      [
        [1, 0, 1],
        [0, 1, 1],
      ],
      [2, 3, 5],
    );
    expect(solution[0]).toBeCloseTo(2, 12);
    expect(solution[1]).toBeCloseTo(3, 12);
  });

  test('leave out what would be negative, as a search of all subsets does', () => {
    const value = fc.double({ min: -10, max: 10, noNaN: true });
    // Three columns in two dimensions.
    const dependent: [number, number, number, number][] = [
      [0, 0, 0, 0],
      [1.4609798822912436e-96, 0, -1.6046517411956667e-38, 0],
      [0, 0, 0, 0],
      [0, -0.00006583910079285485, 5.624813407911111e-43, 9.935405216992793],
    ];
    fc.assert(
      fc.property(fc.array(fc.tuple(value, value, value, value), { minLength: 2, maxLength: 8 }), (rows) => {
        const columns = [0, 1, 2].map((index) => rows.map((row) => row[index]!));
        const right = rows.map((row) => row[3]);
        const errorOf = (solution: readonly number[]): number =>
          Math.hypot(
            ...right.map((wanted, row) =>
              columns.reduce((sum, column, index) => sum + column[row]! * solution[index]!, -wanted),
            ),
          );
        const solution = nonNegativeLeastSquares(columns, right);
        expect(solution.every((each) => each >= 0)).toBe(true);
        // Any step to either side that stays allowed is no better.
        const error = errorOf(solution);
        for (const index of [0, 1, 2]) {
          for (const step of [-0.01, 0.01]) {
            const moved = solution.map((each, place) => Math.max(0, each + (place === index ? step : 0)));
            expect(errorOf(moved)).toBeGreaterThanOrEqual(error - 1e-6);
          }
        }
      }),
      { numRuns: 1000, examples: [[dependent]] },
    );
  });

  test('columns that depend on others are told', () => {
    const columns = [
      [1, 1, 1],
      [1, 2, 3],
    ];
    expect(dependenceOn(columns, [3, 5, 7])!.map((part) => Math.round(part * 1e6) / 1e6)).toEqual([1, 2]);
    expect(dependenceOn(columns, [0, 0, 0])).toEqual([0, 0]);
    expect(dependenceOn(columns, [1, 4, 9])).toBeUndefined();
    expect(dependenceOn([], [1, 2, 3])).toBeUndefined();
  });
});

describe('costs', () => {
  test('are those that the times were made of', () => {
    const fit = fitted(LADDER, (crossing) => timeOf(crossing, COSTS));
    for (const of of PIECES) expect(costOf(fit, of).seconds / COSTS[of], of).toBeCloseTo(1, 6);
    expect(fit.worst).toBeLessThan(1e-6);
    expect(fit.inseparable).toEqual({});
    expect(fit.costs).toHaveLength(PIECES.length);
  });

  test('lie within their intervals if times are noisy', () => {
    const inside = Object.fromEntries(PIECES.map((of) => [of, 0])) as Record<Piece, number>;
    const runs = 20;
    for (let seed = 1; seed <= runs; seed += 1) {
      const fit = fitted(LADDER, (crossing) => timeOf(crossing, COSTS), 0.04, seed);
      for (const of of PIECES) {
        const { low, high, seconds } = costOf(fit, of);
        expect(low).toBeLessThanOrEqual(seconds);
        expect(high).toBeGreaterThanOrEqual(seconds);
        if (low <= COSTS[of] && COSTS[of] <= high) inside[of] += 1;
      }
    }
    for (const of of PIECES) expect(inside[of], of).toBeGreaterThanOrEqual(runs * 0.8);
  });

  test('of pieces that always come together are one cost, and that is said', () => {
    const ladder = SIZES.map((size) => rowsOf(size, NAMED));
    const fit = fitted(ladder, (crossing) => timeOf(crossing, COSTS));
    expect(fit.costs.map(({ of }) => of)).toEqual(['call', 'row']);
    expect(Object.keys(fit.inseparable)).toEqual(['number', 'text', 'byte']);
    expect(fit.inseparable.byte!.map((part) => Math.round(part * 1e3) / 1e3 + 0)).toEqual([0, 12]);
    const whole = COSTS.row + 2 * COSTS.number + COSTS.text + 12 * COSTS.byte;
    expect(costOf(fit, 'row').seconds / whole).toBeCloseTo(1, 6);
  });

  test('change with the size if the times do, and not if they don’t', () => {
    const ladder = [8, 16, 256, 4096, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216].map((bytes) => bytesOf(bytes));
    const slower = ({ bytes }: Crossing): number => 2e-7 + bytes * 2e-11 + Math.max(0, bytes - 262_144) * 1e-10;
    const fit = fitted(ladder, slower);
    expect(fit.knees).toHaveLength(1);
    expect(fit.knees[0]!.after).toBe(262_144);
    expect(fit.knees[0]!.factor).toBeCloseTo(6, 0);
    expect(fit.worst).toBeLessThan(0.01);
    expect(fit.worstStraight).toBeGreaterThan(0.2);
    const unbent = fitCosts(measured(ladder, slower), 0) as FittedCosts;
    expect(unbent.knees).toEqual([]);
    expect(unbent.worst).toBeCloseTo(fit.worstStraight!, 12);
    const straight = fitted(ladder, ({ bytes }) => 2e-7 + bytes * 2e-11, 0.02);
    expect(straight.worstStraight).toBeUndefined();
    expect([straight.costs.length, straight.knees]).toEqual([2, []]);
  });

  const MECHANISM = { what: 'bytes', direction: 'in', side: 'napi', lane: 'copy', variant: 'copied' } as const;

  test('jump beyond a size from which on each call costs more', () => {
    const ladder = BYTE_SIZES.map((bytes) => bytesOf(bytes));
    const later = ({ bytes }: Crossing): number =>
      5e-8 + bytes * 1e-11 + (bytes > 64 ? 4e-7 : 0) + (bytes > 262_144 ? 6e-5 : 0);
    const fit = fitted(ladder, later);
    const jumps = fit.costs.filter(({ after }) => after !== undefined);
    expect(jumps.map(({ of, after }) => [of, after])).toEqual(
      expect.arrayContaining([
        ['call', 64],
        ['call', 262_144],
      ]),
    );
    expect(jumps.map(({ seconds }) => seconds).toSorted((a, b) => a - b)[0]! / 4e-7).toBeCloseTo(1, 3);
    expect(fit.worst).toBeLessThan(0.01);
    expect(fit.worstStraight).toBeGreaterThan(0.2);
    // Between the sizes of the ladder, and with each jump paid once.
    for (const bytes of [32, 100, 200_000, 300_000, 3_000_000]) {
      const { seconds } = predictCall({ ...MECHANISM, ...fit }, bytesOf(bytes));
      expect(seconds / later(bytesOf(bytes)), `${bytes}`).toBeCloseTo(1, 2);
    }
  });

  test('of too few cells are refused', () => {
    const few = [1, 10, 100].map((size) => rowsOf(size, NAMED));
    expect(fitCosts(measured(few, (crossing) => timeOf(crossing, COSTS)))).toBe(
      '3 cells, too few to fit a cost of each piece',
    );
    expect(fitCosts([])).toMatch(/^0 cells/);
  });

  test('leave out the cells that are held out, and predict them', () => {
    const heldOut = { ...rowsOf(300, { numbers: 2, texts: 1, bytes: 40 }), isHeldOut: true };
    const fit = fitted([...LADDER, heldOut], (crossing) => timeOf(crossing, COSTS));
    expect(fit.fitted).toHaveLength(LADDER.length);
    expect(fit.heldOut).toHaveLength(1);
    expect(fit.heldOut[0]!.predicted / fit.heldOut[0]!.measured).toBeCloseTo(1, 6);
  });
});

const cost = fc.double({ min: 0, max: 1e-6, noNaN: true });
const anyCosts: fc.Arbitrary<TrueCosts> = fc.record({
  call: fc.double({ min: 1e-9, max: 1e-4, noNaN: true }),
  row: cost,
  number: cost,
  text: cost,
  byte: cost,
});

test('costs are never negative, whatever the times', () => {
  fc.assert(
    fc.property(anyCosts, fc.double({ min: 0, max: 0.9, noNaN: true }), fc.integer(), (costs, noise, seed) => {
      const fit = fitted(LADDER, (crossing) => timeOf(crossing, costs), noise, seed);
      for (const { seconds, low, high } of fit.costs) {
        expect(seconds).toBeGreaterThanOrEqual(0);
        expect(low).toBeGreaterThanOrEqual(0);
        expect(high).toBeGreaterThanOrEqual(seconds);
      }
    }),
    { numRuns: 10 },
  );
});
