/** Fits the costs of one mechanism to the times of its calls. */
import {
  type Cost,
  type Crossing,
  type Knee,
  type Mechanism,
  type MechanismCosts,
  type ModelledCell,
  PIECES,
  type Piece,
} from '../records/record.js';
import { median } from '../stats/quantile.js';
import { seededDraws } from '../stats/random.js';
import { type Forks, Resampling, reachOf, unshrunk } from '../stats/resampling.js';
import { dependenceOn, dot, nonNegativeLeastSquares } from './least-squares.js';
import { type Amounts, type Term, amountsOf, mostOf, paidAmounts, perRow, sizePieceOf, timesPaid } from './pieces.js';

/** A cell of a ladder: what crosses in a call, and the seconds of calls, an array for each process. */
export interface MeasuredCall {
  readonly id: string;
  readonly crossing: Crossing;
  readonly seconds: Forks;
}

/** The costs without the mechanism that they are of. */
export type FittedCosts = Omit<MechanismCosts, keyof Mechanism>;

/** The fewest cells beyond the number of unknowns: residuals of fewer say nothing. */
const SPARE_CELLS = 2;

/**
 * The most knees and jumps of a mechanism: more of them follow the noise of single cells. A knee has a size and a
 * factor, a jump a size beside its cost.
 */
export const MOST_BENDS = 2;
const UNKNOWNS_OF_A_KNEE = 2;
const UNKNOWNS_OF_A_JUMP = 1;

/** The largest residual of costs without knees up to which they stay so. */
const STRAIGHT_ENOUGH = 0.05;

/** The factors that a knee may have, as a logarithm, and to which distance the best one is searched. */
const MOST_FACTOR = Math.log(30);
const FACTOR_STEP = 0.01;

/** How often the factor of each of several knees is searched again, given the factors of the others. */
const TURNS = 3;

const RESAMPLES = 500;
const SEED = 0x5eed;

/**
 * The costs of the pieces of a call, each 0 or more, with which the relative differences of predicted from measured times have the
 * least sum of squares. Relative ones, since the times of a ladder span several decades, and the largest would else be fitted alone.
 *
 * Beyond a size of the ladder, the pieces carried may cost more, or less (a knee), or each call may cost more (a jump).
 * Knees and jumps are added if they lower the criterion of Schwarz ("Estimating the dimension of a model", Annals of
 * Statistics 6, 1978). Costs of 0 do not count as unknowns (Meyer and Woodroofe, "On the degrees of freedom in
 * shape-restricted regression", Annals of Statistics 28, 2000).
 *
 * Returns the reason why there are no costs, if the cells are too few. With `mostBends` of 0, the model is a straight line.
 */
export function fitCosts(calls: readonly MeasuredCall[], mostBends = MOST_BENDS): FittedCosts | string {
  const ladder = calls.filter(({ crossing }) => crossing.isHeldOut !== true);
  const cells = ladder.map((call) => cellOf(call));
  const straight = attemptWith(cells, [], []);
  if (straight === undefined) return `${ladder.length} cells, too few to fit a cost of each piece`;
  const best = worstOf(straight) <= STRAIGHT_ENOUGH ? straight : withBends(cells, straight, mostBends);
  const { inseparable, knees, residuals } = best;
  const amounts = cells.map((cell) => cell.amounts);
  const degrees = cells.length - unknownsOf(best);
  return {
    ...bootstrap(ladder, best),
    knees,
    inseparable,
    most: mostOf(amounts),
    mostPerRow: mostOf(amounts.map(perRow)),
    deviation: Math.sqrt(dot(residuals, residuals) / degrees),
    degrees,
    worst: worstOf(best),
    ...(best === straight ? {} : { worstStraight: worstOf(straight) }),
    fitted: cells.map((cell) => modelled(cell, best)),
    heldOut: calls.filter(({ crossing }) => crossing.isHeldOut === true).map((call) => modelled(cellOf(call), best)),
  };
}

/** A cell with the median time of a call. */
interface MedianCell {
  readonly id: string;
  readonly what: Crossing['what'];
  readonly amounts: Amounts;
  readonly measured: number;
}

function cellOf({ id, crossing, seconds }: MeasuredCall): MedianCell {
  return { id, what: crossing.what, amounts: amountsOf(crossing), measured: median(seconds.flat()) };
}

function modelled({ id, what, amounts, measured }: MedianCell, { terms, seconds, knees }: Attempt): ModelledCell {
  const paid = paidAmounts(what, amounts, knees);
  const times = terms.map((term) => timesPaid(what, term, amounts, paid));
  return { id, measured, predicted: dot(times, seconds) };
}

/** A fit of certain costs, with certain knees. */
interface Attempt {
  readonly knees: readonly Knee[];
  readonly terms: readonly Term[];
  readonly seconds: readonly number[];
  readonly inseparable: MechanismCosts['inseparable'];
  /** For each of the costs, the pieces of each cell. */
  readonly columns: readonly (readonly number[])[];
  /** The differences of predicted from measured times, as parts of the latter. */
  readonly residuals: readonly number[];
}

function worstOf({ residuals }: Attempt): number {
  return Math.max(...residuals.map(Math.abs));
}

function unknownsOf({ terms, seconds, knees }: Attempt): number {
  const bends = UNKNOWNS_OF_A_KNEE * knees.length + UNKNOWNS_OF_A_JUMP * jumpsOf(terms).length;
  return seconds.filter((cost) => cost > 0).length + bends;
}

function jumpsOf(terms: readonly Term[]): number[] {
  return terms.flatMap(({ after }) => after ?? []);
}

/** Fits costs with knees and with jumps beyond these sizes; `undefined` if there are too few cells. */
function attemptWith(
  cells: readonly MedianCell[],
  knees: readonly Knee[],
  jumps: readonly number[],
): Attempt | undefined {
  const amounts = cells.map((cell) => paidAmounts(cell.what, cell.amounts, knees));
  const terms: Term[] = [];
  const columns: number[][] = [];
  const dependent: [Piece, readonly number[]][] = [];
  for (const of of PIECES) {
    const column = amounts.map((each) => each[of]);
    const parts = dependenceOn(columns, column);
    if (parts !== undefined) {
      dependent.push([of, parts]);
      continue;
    }
    terms.push({ of });
    columns.push(column);
  }
  for (const after of jumps) {
    const term: Term = { of: 'call', after };
    terms.push(term);
    columns.push(cells.map((cell, row) => timesPaid(cell.what, term, cell.amounts, amounts[row]!)));
  }
  const weighted = columns.map((column) => column.map((value, row) => value / cells[row]!.measured));
  const seconds = nonNegativeLeastSquares(
    weighted,
    cells.map(() => 1),
  );
  const inseparable = Object.fromEntries(
    dependent.map(([of, parts]) => [of, terms.map((_, index) => parts[index] ?? 0)]),
  ) as MechanismCosts['inseparable'];
  const residuals = cells.map((_, row) => {
    const pieces = weighted.map((column) => column[row]!);
    return dot(seconds, pieces) - 1;
  });
  const attempt = { knees, terms, seconds, inseparable, columns, residuals };
  return cells.length < unknownsOf(attempt) + SPARE_CELLS ? undefined : attempt;
}

/**
 * The best of the fits with knees and jumps at sizes of the ladder. One joins those there are, as long as that makes
 * the fit better. The last size is neither, and the first one no knee. Rows have no jumps: the sizes of their ladders
 * are ten times apart, so that one could be anywhere between two of them.
 */
function withBends(cells: readonly MedianCell[], straight: Attempt, mostBends: number): Attempt {
  const sizes = [...new Set(cells.map(({ what, amounts }) => amounts[sizePieceOf(what)]))].toSorted((a, b) => a - b);
  const { what } = cells[0]!;
  let best = straight;
  for (let count = 1; count <= mostBends; count += 1) {
    const knees = best.knees.map(({ after }) => after);
    const jumps = jumpsOf(best.terms);
    const free = (taken: readonly number[], first: number): number[] =>
      sizes.slice(first, -1).filter((size) => !taken.includes(size));
    const attempts = [
      ...free(knees, 1).flatMap((after) => withFactors(cells, [...knees, after], jumps) ?? []),
      ...(what === 'rows' ? [] : free(jumps, 0)).flatMap((after) => withFactors(cells, knees, [...jumps, after]) ?? []),
    ];
    const next = attempts.reduce(
      (found, attempt) => (criterionOf(attempt) < criterionOf(found) ? attempt : found),
      best,
    );
    if (next === best) break;
    best = next;
  }
  return best;
}

/** The fit with knees and jumps at these sizes, the factors of the knees being the best: each in turn, given the others. */
function withFactors(
  cells: readonly MedianCell[],
  sizes: readonly number[],
  jumps: readonly number[],
): Attempt | undefined {
  const ascending = sizes.toSorted((a, b) => a - b);
  const logs = ascending.map(() => 0);
  const attempt = (): Attempt | undefined =>
    attemptWith(
      cells,
      ascending.map((after, index) => ({ after, factor: Math.exp(logs[index]!) })),
      jumps,
    );
  const errorAt = (index: number, log: number): number => {
    logs[index] = log;
    const found = attempt();
    return found === undefined ? Infinity : dot(found.residuals, found.residuals);
  };
  for (let turn = 0; turn < (ascending.length === 1 ? 1 : TURNS); turn += 1) {
    for (const index of ascending.keys()) logs[index] = leastOf((log) => errorAt(index, log));
  }
  return attempt();
}

/** The place where a function of one valley between the bounds of factors is least: by a coarse search, then by golden sections. */
function leastOf(errorAt: (log: number) => number): number {
  const coarse = Array.from({ length: 2 * COARSE_STEPS + 1 }, (_, step) => (step / COARSE_STEPS - 1) * MOST_FACTOR);
  const errors = coarse.map(errorAt);
  const place = errors.indexOf(Math.min(...errors));
  let [low, high] = [coarse[Math.max(0, place - 1)]!, coarse[Math.min(coarse.length - 1, place + 1)]!];
  while (high - low > FACTOR_STEP) {
    const [left, right] = [high - GOLDEN * (high - low), low + GOLDEN * (high - low)];
    if (errorAt(left) <= errorAt(right)) high = right;
    else low = left;
  }
  return (low + high) / 2;
}

const COARSE_STEPS = 6;
const GOLDEN = (Math.sqrt(5) - 1) / 2;

/** The variance of residuals below which they come from rounding alone. */
const LEAST_VARIANCE = 1e-12;

/** The criterion of Schwarz. The least is the best. */
function criterionOf(attempt: Attempt): number {
  const { residuals } = attempt;
  const count = residuals.length;
  const variance = Math.max(dot(residuals, residuals) / count, LEAST_VARIANCE);
  return count * Math.log(variance) + unknownsOf(attempt) * Math.log(count);
}

/**
 * The costs with their intervals and covariance, by the hierarchical bootstrap that ratios have. The times of each cell
 * are drawn again, and the costs fitted to their medians, with the same knees.
 */
function bootstrap(
  ladder: readonly MeasuredCall[],
  { terms, seconds, columns }: Attempt,
): Pick<FittedCosts, 'costs' | 'covariance'> {
  const draw = seededDraws(SEED);
  const cells = ladder.map((call) => new Resampling(call.seconds));
  const ones = ladder.map(() => 1);
  const drawn = Array.from({ length: RESAMPLES }, () => {
    const times = cells.map((cell) => cell.median(draw));
    return nonNegativeLeastSquares(
      columns.map((column) => column.map((value, row) => value / times[row]!)),
      ones,
    );
  });
  const degrees = Math.min(...cells.map((cell) => cell.degrees));
  const covariance = covarianceOf(drawn);
  return {
    costs: terms.map((term, index): Cost => {
      const fitted = seconds[index]!;
      const reach = reachOf(degrees) * Math.sqrt(unshrunk(covariance[index]![index]!, degrees));
      return { ...term, seconds: fitted, low: Math.max(0, fitted - reach), high: fitted + reach };
    }),
    covariance,
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
