/** The cost of a crossing by the model, and how sure that is. */
import { type MechanismCosts, PIECES } from '../records/record.js';
import { studentQuantile } from '../stats/student.js';
import { dot } from './least-squares.js';
import { type Amounts, type Load, amountsOf, paidAmounts, perRow, sizePieceOf, timesPaid } from './pieces.js';
import { BoundaryError } from '../errors.js';

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

/** The pieces that a column adds to each row. */
type ColumnPieces = Pick<Load, 'numbers' | 'texts' | 'bytes'>;

const NUMBER: ColumnPieces = { numbers: 1, texts: 0, bytes: 0 };

/** The types whose costs are measured, by their names. A text has a length behind it. */
const TYPES: Readonly<Record<string, ColumnPieces>> = { int: NUMBER, double: NUMBER };

/**
 * The load of `rows` rows of columns such as `id:int,name:text~12,score:double`. Throws a `BoundaryError` with the code
 * `BB_MODEL_COLUMNS` that names the column that can't be read.
 */
export function loadOfRows(rows: number, columns: string): Load {
  const pieces = columns.split(',').map((column) => piecesOf(column.trim()));
  const sum = (key: keyof ColumnPieces): number => rows * pieces.reduce((all, each) => all + each[key], 0);
  return { what: 'rows', rows, numbers: sum('numbers'), texts: sum('texts'), bytes: sum('bytes') };
}

/** The load of a text of `characters` characters of one byte. */
export function loadOfText(characters: number): Load {
  return { what: 'text', rows: 0, numbers: 0, texts: 1, bytes: characters };
}

/** The load of an array of `bytes` bytes. */
export function loadOfBytes(bytes: number): Load {
  return { what: 'bytes', rows: 0, numbers: 0, texts: 0, bytes };
}

function piecesOf(column: string): ColumnPieces {
  const [, type, length] = /^[\w$]+:(\w+)(?:~(\d+))?$/.exec(column) ?? [];
  if (type === undefined) throw wrongColumns(`"${column}" is no column`);
  if (type === 'text') {
    if (length === undefined) throw wrongColumns(`the column "${column}" needs a mean length, such as ${column}~12`);
    return { numbers: 0, texts: 1, bytes: Number(length) };
  }
  const pieces = TYPES[type];
  if (pieces === undefined) throw wrongColumns(`no costs are measured of the type "${type}" of the column "${column}"`);
  if (length !== undefined) throw wrongColumns(`the column "${column}" has a length, which is for texts alone`);
  return pieces;
}

function wrongColumns(problem: string): BoundaryError {
  const types = [...Object.keys(TYPES), 'text~N'].join(', ');
  return new BoundaryError('BB_MODEL_COLUMNS', problem, {
    hint: `Columns look like id:int,name:text~12,score:double. Types: ${types}, where N is the mean number of characters of one byte.`,
  });
}
