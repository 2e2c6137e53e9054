/** Calls whose times are known sums of their pieces, to which costs are fitted. */
import type { MeasuredCall } from '../../src/model/fit.js';
import { amountsOf } from '../../src/model/pieces.js';
import { type Crossing, PIECES, type Piece } from '../../src/records/record.js';
import { seededDraws } from '../../src/stats/random.js';

export type Shape = Pick<Crossing, 'numbers' | 'texts' | 'bytes'>;

/** The true costs, in seconds. */
export type TrueCosts = Readonly<Record<Piece, number>>;

export const COSTS: TrueCosts = { call: 3e-7, row: 9e-8, number: 2e-8, text: 1.2e-7, byte: 5e-10 };

export const NAMED: Shape = { numbers: 2, texts: 1, bytes: 12 };
export const LONG: Shape = { numbers: 2, texts: 1, bytes: 200 };
export const FOUR: Shape = { numbers: 4, texts: 0, bytes: 0 };
export const WIDE: Shape = { numbers: 8, texts: 0, bytes: 0 };

export const SIZES = [1, 10, 100, 1000, 10_000, 100_000, 300_000, 1_000_000] as const;

/** A number of rows of a shape, into the other side. */
export function rowsOf(rows: number, shape: Shape): Crossing {
  const [numbers, texts, bytes] = [shape.numbers, shape.texts, shape.bytes].map((each) => each * rows) as [
    number,
    number,
    number,
  ];
  return { what: 'rows', direction: 'in', rows, numbers, texts, bytes };
}

/** The ladder of rows, and others of other shapes, by which the costs can be told apart. */
export const LADDER: readonly Crossing[] = [
  ...SIZES.map((size) => rowsOf(size, NAMED)),
  ...[LONG, FOUR, WIDE].flatMap((shape) => [10, 1000].map((size) => rowsOf(size, shape))),
];

/** The true time of a call. */
export function timeOf(crossing: Crossing, costs: TrueCosts): number {
  const amounts = amountsOf(crossing);
  return PIECES.reduce((sum, of) => sum + amounts[of] * costs[of], 0);
}

/** Measured calls: three forks of five samples each, off by up to `noise` of the true time, fork by fork and sample by sample. */
export function measured(
  crossings: readonly Crossing[],
  trueTimeOf: (crossing: Crossing) => number,
  noise = 0,
  seed = 1,
): MeasuredCall[] {
  const draw = seededDraws(seed);
  const factor = (): number => 1 + noise * (draw(2001) / 1000 - 1);
  return crossings.map((crossing, index) => ({
    id: `cell ${index}`,
    crossing,
    seconds: Array.from({ length: 3 }, () => {
      const fork = factor();
      return Array.from({ length: 5 }, () => trueTimeOf(crossing) * fork * factor());
    }),
  }));
}
