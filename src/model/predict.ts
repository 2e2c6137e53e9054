/** The cost of a crossing by the model, and how sure that is. */
import { type MechanismCosts, PIECES } from '../records/record.js';
import { studentQuantile } from '../stats/student.js';
import { dot } from './least-squares.js';
import { type Amounts, type Load, amountsOf, paidAmounts, perRow, sizePieceOf, timesPaid } from './pieces.js';

/** How far a prediction can be relied on. */
export type Certainty = 'sure' | 'rough' | 'unknown';

/** The seconds of a call with the ends of the 95% interval of one more measured cell. */
export interface Prediction {
  readonly mechanism: MechanismCosts;
  readonly seconds: number;
  readonly low: number;
  readonly high: number;
  readonly certainty: Certainty;
  /** The reasons why the certainty is no better. */
  readonly doubts: readonly string[];
}

/**
 * The distance of the interval's ends from a prediction, on average and as a part of it, up to which it is sure, and up
 * to which it is rough.
 */
const SURE = 0.25;
const ROUGH = 0.5;

/** The quantile between which and its opposite 95% of a distribution lie. */
const UPPER_END = 0.975;

/** The part of a number of pieces by which it may be off for want of exact arithmetic. */
const ROUNDING = 1e-6;

/**
 * The time of a call that carries a load. Its variance is the sum of the variance of the costs, by their covariance,
 * and the variance of single cells around the model. It has the interval of a new observation in a regression (Draper
 * and Smith, "Applied Regression Analysis", 1998, section 3.1), whose deviation is relative here, as the fit is.
 */
export function predictCall(mechanism: MechanismCosts, load: Load): Prediction {
  const amounts = amountsOf(load);
  const { costs, covariance, deviation, degrees, knees, what } = mechanism;
  const paid = paidAmounts(what, amounts, knees);
  const pieces = costs.map((cost) => timesPaid(what, cost, amounts, paid));
  const seconds = dot(
    pieces,
    costs.map((cost) => cost.seconds),
  );
  const ofCosts = dot(
    pieces,
    covariance.map((row) => dot(row, pieces)),
  );
  const spread = studentQuantile(UPPER_END, degrees) * Math.sqrt(Math.max(0, ofCosts) + (deviation * seconds) ** 2);
  const interval = { low: Math.max(0, seconds - spread), high: seconds + spread };
  const beyond = beyondTheLadder(mechanism, load, amounts, paid);
  const width = seconds === 0 ? 0 : spread / seconds;
  const doubts = [
    ...beyond,
    ...(width > SURE ? [`the interval reaches ${Math.round(width * 100)}% to each side`] : []),
  ];
  const certainty = beyond.length > 0 || width > ROUGH ? 'unknown' : width > SURE ? 'rough' : 'sure';
  return { mechanism, seconds, ...interval, certainty, doubts };
}

/** The parts of a load that were not measured, one phrase each. */
function beyondTheLadder(
  { what, most, mostPerRow, inseparable, costs }: MechanismCosts,
  load: Load,
  amounts: Amounts,
  paid: Amounts,
): string[] {
  if (load.what !== what) return [`the ladder is of ${what}, not of ${load.what}`];
  const ofRow = perRow(amounts);
  const size = sizePieceOf(what);
  return [
    ...(amounts[size] > most[size] ? [`calls of more than ${most[size]} ${size}s were not measured`] : []),
    ...PIECES.flatMap((of) => {
      const isMore = what === 'rows' && of !== 'call' && ofRow[of] > mostPerRow[of] * (1 + ROUNDING);
      return isMore ? [`rows of more than ${mostPerRow[of]} ${of}s were not measured`] : [];
    }),
    ...PIECES.flatMap((of) => {
      const parts = inseparable[of];
      if (parts === undefined) return [];
      const usual = dot(
        parts,
        costs.map((cost) => paid[cost.of]),
      );
      const isUsual = Math.abs(paid[of] - usual) <= ROUNDING * Math.max(paid[of], usual);
      return isUsual ? [] : [`the cost of a ${of} was not told apart from others, and the ladder had other ${of}s`];
    }),
  ];
}
