import { type Cost, type Crossing, type Knee, PIECES, type Piece } from '../records/record.js';

/** The pieces of a call or of several, by what they are. */
export type Amounts = Readonly<Record<Piece, number>>;

/** The values that cross in one call, in either direction. */
export type Load = Omit<Crossing, 'direction' | 'client' | 'isHeldOut'>;

/** The pieces of a call. */
export function amountsOf({ rows, numbers, texts, bytes }: Omit<Load, 'what'>): Amounts {
  return { call: 1, row: rows, number: numbers, text: texts, byte: bytes };
}

/** The piece by which the size of a call is told: the rows of rows, and else the bytes. */
export function sizePieceOf(what: Crossing['what']): Piece {
  return what === 'rows' ? 'row' : 'byte';
}

/**
 * The pieces that a call is paid for: beyond each knee, a further one counts as many times as the knee says. With a
 * row, all that is in it counts so.
 */
export function paidAmounts(what: Crossing['what'], amounts: Amounts, knees: readonly Knee[]): Amounts {
  if (knees.length === 0) return amounts;
  const piece = sizePieceOf(what);
  const size = amounts[piece];
  const factor = size === 0 ? 1 : stretched(size, knees) / size;
  return mapped((of) => amounts[of] * (isCarried(what, of) ? factor : 1));
}

/** Whether there is more of a piece in a larger call. */
function isCarried(what: Crossing['what'], of: Piece): boolean {
  return what === 'rows' ? of !== 'call' : of === 'byte';
}

/** A size of which the parts beyond the knees count with their factors. */
function stretched(size: number, knees: readonly Knee[]): number {
  let sum = Math.min(size, knees[0]!.after);
  for (const [index, { after, factor }] of knees.entries()) {
    const until = knees[index + 1]?.after ?? Infinity;
    sum += Math.max(0, Math.min(size, until) - after) * factor;
  }
  return sum;
}

/** The thing that one cost is paid for: each of certain pieces or, with `after`, once a call that is larger. */
export type Term = Pick<Cost, 'of' | 'after'>;

/** How many times a call pays a cost. */
export function timesPaid(what: Crossing['what'], { of, after }: Term, amounts: Amounts, paid: Amounts): number {
  if (after === undefined) return paid[of];
  return amounts[sizePieceOf(what)] > after ? 1 : 0;
}

/** The largest amount of each piece. */
export function mostOf(all: readonly Amounts[]): Amounts {
  return mapped((of) => Math.max(0, ...all.map((amounts) => amounts[of])));
}

/** The pieces of a call per row, on average; zeros without rows. */
export function perRow(amounts: Amounts): Amounts {
  const { row } = amounts;
  return mapped((of) => (row === 0 ? 0 : amounts[of] / row));
}

function mapped(amountOf: (of: Piece) => number): Amounts {
  return Object.fromEntries(PIECES.map((of) => [of, amountOf(of)])) as Amounts;
}
