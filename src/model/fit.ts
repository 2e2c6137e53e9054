/** Fits the costs of one mechanism to the times of its calls. */
import type { Cost, Crossing, MechanismCosts, ModelledCell, Piece } from '../records/record.js';
import { median, quantileOfSorted } from '../stats/quantile.js';
import { seededDraws } from '../stats/random.js';
import { type Forks, Resampling, expandedTail } from '../stats/resampling.js';
import { dependenceOn, dot, nonNegativeLeastSquares } from './least-squares.js';
import { type Amounts, type Paid, amountsOf, mostOf, paidFor, paidPieces, perRow, sizePieceOf } from './pieces.js';

/** A cell of a ladder: what crosses in a call, and the seconds of calls, an array for each process. */
export interface MeasuredCall {
  readonly id: string;
  readonly crossing: Crossing;
  readonly seconds: Forks;
}

/** The costs without the mechanism that they are of. */
export type FittedCosts = Pick<
  MechanismCosts,
  | 'costs'
  | 'covariance'
  | 'inseparable'
  | 'most'
  | 'mostPerRow'
  | 'deviation'
  | 'degrees'
  | 'worst'
  | 'worstStraight'
  | 'fitted'
  | 'heldOut'
>;

/** The fewest cells beyond the number of costs: residuals of fewer say nothing. */
const SPARE_CELLS = 2;

/** The most sizes at which a cost changes. */
const MOST_KNEES = 2;

/** The largest residual of costs that don't change with the size up to which they stay so. */
const STRAIGHT_ENOUGH = 0.05;

const RESAMPLES = 1000;
const SEED = 0x5eed;

/**
 * The costs of the pieces of a call, each 0 or more, with which the relative differences of predicted from measured times have the
 * least sum of squares. Relative ones, since the times of a ladder span several decades, and the largest would else be fitted alone.
 *
 * The cost of the size (a row, or a byte) changes at up to two sizes of the ladder, where that lowers Akaike's criterion with its
 * correction for few values (Hurvich and Tsai, "Regression and time series model selection in small samples", Biometrika 76, 1989).
 *
 * Returns the reason why there are no costs, if the cells are too few.
 */
export function fitCosts(calls: readonly MeasuredCall[]): FittedCosts | string {
  const ladder = calls.filter(({ crossing }) => crossing.isHeldOut !== true);
  const cells = ladder.map((call) => cellOf(call));
  const straight = tryPaid(cells, []);
  if (straight === undefined) return `${ladder.length} cells, too few to fit a cost of each piece`;
  const best = worstOf(straight) <= STRAIGHT_ENOUGH ? straight : withKnees(cells, straight);
  const { paid, seconds, inseparable, knees } = best;
  const amounts = cells.map((cell) => cell.amounts);
  const degrees = cells.length - seconds.length - knees.length;
  return {
    ...bootstrap(ladder, paid, seconds, amounts),
    inseparable,
    most: mostOf(amounts),
    mostPerRow: mostOf(amounts.map(perRow)),
    deviation: Math.sqrt(dot(best.residuals, best.residuals) / degrees),
    degrees,
    worst: worstOf(best),
    ...(knees.length === 0 ? {} : { worstStraight: worstOf(straight) }),
    fitted: cells.map((cell) => modelled(cell, paid, seconds)),
    heldOut: calls
      .filter(({ crossing }) => crossing.isHeldOut === true)
      .map((call) => modelled(cellOf(call), paid, seconds)),
  };
}

/** A cell with the median time of a call. */
interface MedianCell {
  readonly id: string;
  readonly size: Piece;
  readonly amounts: Amounts;
  readonly measured: number;
}

function cellOf({ id, crossing, seconds }: MeasuredCall): MedianCell {
  return { id, size: sizePieceOf(crossing.what), amounts: amountsOf(crossing), measured: median(seconds.flat()) };
}

function modelled(
  { id, amounts, measured }: MedianCell,
  paid: readonly Paid[],
  seconds: readonly number[],
): ModelledCell {
  return { id, measured, predicted: dot(piecesOf(paid, amounts), seconds) };
}

function piecesOf(paid: readonly Paid[], amounts: Amounts): number[] {
  return paid.map((range) => paidPieces(range, amounts));
}

/** A fit of certain costs. */
interface Attempt {
  readonly knees: readonly number[];
  readonly paid: readonly Paid[];
  readonly seconds: readonly number[];
  readonly inseparable: MechanismCosts['inseparable'];
  /** The differences of predicted from measured times, as parts of the latter. */
  readonly residuals: readonly number[];
}

function worstOf({ residuals }: Attempt): number {
  return Math.max(...residuals.map(Math.abs));
}

/** Fits costs that change at `knees`; `undefined` if there are too few cells, or the costs of a piece can't be told apart. */
function tryPaid(cells: readonly MedianCell[], knees: readonly number[]): Attempt | undefined {
  if (cells.length === 0) return undefined;
  const wanted = paidFor(cells[0]!.size, knees);
  const paid: Paid[] = [];
  const columns: number[][] = [];
  const dependent: [Piece, readonly number[]][] = [];
  for (const range of wanted) {
    const column = cells.map(({ amounts }) => paidPieces(range, amounts));
    const parts = dependenceOn(columns, column);
    if (parts === undefined) {
      paid.push(range);
      columns.push(column);
    } else if (range.after === undefined && range.until === undefined) {
      dependent.push([range.of, parts]);
    } else {
      return undefined;
    }
  }
  if (cells.length < paid.length + knees.length + SPARE_CELLS) return undefined;
  const weighted = columns.map((column) => column.map((value, row) => value / cells[row]!.measured));
  const seconds = nonNegativeLeastSquares(
    weighted,
    cells.map(() => 1),
  );
  return {
    knees,
    paid,
    seconds,
    inseparable: Object.fromEntries(
      dependent.map(([of, parts]) => [of, paid.map((_, index) => parts[index] ?? 0)]),
    ) as MechanismCosts['inseparable'],
    residuals: cells.map(
      (_, row) =>
        dot(
          seconds,
          weighted.map((column) => column[row]!),
        ) - 1,
    ),
  };
}

/** The best of the fits with knees at sizes of the ladder, which the first and the last of them are not. */
function withKnees(cells: readonly MedianCell[], straight: Attempt): Attempt {
  const sizes = [...new Set(cells.map(({ size, amounts }) => amounts[size]))].toSorted((a, b) => a - b).slice(1, -1);
  const single = sizes.map((size) => [size]);
  const double = sizes.flatMap((first) => sizes.filter((second) => second > first).map((second) => [first, second]));
  const attempts = [...single, ...(MOST_KNEES > 1 ? double : [])].flatMap((knees) => tryPaid(cells, knees) ?? []);
  return attempts.reduce((best, attempt) => (criterionOf(attempt) < criterionOf(best) ? attempt : best), straight);
}

/** The variance of residuals below which they are those of rounding. */
const LEAST_VARIANCE = 1e-12;

/** Akaike's criterion with the correction for few values; its unknowns are the costs, the knees and the variance. */
function criterionOf({ residuals, seconds, knees }: Attempt): number {
  const count = residuals.length;
  const unknowns = seconds.length + knees.length + 1;
  const spare = count - unknowns - 1;
  if (spare <= 0) return Infinity;
  const variance = Math.max(dot(residuals, residuals) / count, LEAST_VARIANCE);
  return count * Math.log(variance) + 2 * unknowns + (2 * unknowns * (unknowns + 1)) / spare;
}

/**
 * The costs with their intervals and covariance, by the hierarchical bootstrap that ratios have: the times of each cell are drawn anew,
 * and the costs fitted to their medians.
 */
function bootstrap(
  ladder: readonly MeasuredCall[],
  paid: readonly Paid[],
  seconds: readonly number[],
  amounts: readonly Amounts[],
): Pick<FittedCosts, 'costs' | 'covariance'> {
  const draw = seededDraws(SEED);
  const cells = ladder.map((call) => new Resampling(call.seconds));
  const columns = paid.map((range) => amounts.map((each) => paidPieces(range, each)));
  const ones = ladder.map(() => 1);
  const drawn = Array.from({ length: RESAMPLES }, () => {
    const times = cells.map((cell) => cell.median(draw));
    return nonNegativeLeastSquares(
      columns.map((column) => column.map((value, row) => value / times[row]!)),
      ones,
    );
  });
  const forks = Math.min(...cells.map(({ count }) => count));
  const outside = expandedTail(forks, Math.max(1, forks - 1));
  return {
    costs: paid.map((range, index): Cost => {
      const sorted = Float64Array.from(drawn, (each) => each[index]!).toSorted();
      const fitted = seconds[index]!;
      return {
        ...range,
        seconds: fitted,
        low: Math.min(fitted, quantileOfSorted(sorted, outside)),
        high: Math.max(fitted, quantileOfSorted(sorted, 1 - outside)),
      };
    }),
    covariance: covarianceOf(drawn),
  };
}

function covarianceOf(drawn: readonly (readonly number[])[]): number[][] {
  const count = drawn[0]!.length;
  const means = Array.from({ length: count }, (_, index) => {
    return drawn.reduce((sum, each) => sum + each[index]!, 0) / drawn.length;
  });
  return means.map((mean, row) =>
    means.map((other, column) => {
      const sum = drawn.reduce((all, each) => all + (each[row]! - mean) * (each[column]! - other), 0);
      return sum / (drawn.length - 1);
    }),
  );
}
