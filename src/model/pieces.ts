import { type Cost, type Crossing, PIECES, type Piece } from '../records/record.js';

/** The pieces of a call or of several, by what they are. */
export type Amounts = Readonly<Record<Piece, number>>;

/** The pieces of a call. */
export function amountsOf({
  rows,
  numbers,
  texts,
  bytes,
}: Pick<Crossing, 'rows' | 'numbers' | 'texts' | 'bytes'>): Amounts {
  return { call: 1, row: rows, number: numbers, text: texts, byte: bytes };
}

/** The range of pieces for which a cost is paid. */
export type Paid = Pick<Cost, 'of' | 'after' | 'until'>;

/** How many pieces of a call fall into the range of a cost. */
export function paidPieces({ of, after = 0, until = Infinity }: Paid, amounts: Amounts): number {
  return Math.max(0, Math.min(amounts[of], until) - after);
}

/** The pieces by which the size of a call is told: the rows of rows, and else the bytes. */
export function sizePieceOf(what: Crossing['what']): Piece {
  return what === 'rows' ? 'row' : 'byte';
}

/** The costs that are to be fitted, one of each piece; that of the size changes at each of the `knees`, which ascend. */
export function paidFor(size: Piece, knees: readonly number[]): Paid[] {
  return PIECES.flatMap((of): Paid[] => {
    if (of !== size || knees.length === 0) return [{ of }];
    const ends = [undefined, ...knees, undefined];
    return ends.slice(1).map((until, index) => {
      const after = ends[index];
      return { of, ...(after === undefined ? {} : { after }), ...(until === undefined ? {} : { until }) };
    });
  });
}

/** The largest amount of each piece. */
export function mostOf(all: readonly Amounts[]): Amounts {
  return Object.fromEntries(PIECES.map((of) => [of, Math.max(0, ...all.map((amounts) => amounts[of]))])) as Amounts;
}

/** The pieces of a row of a call in the mean; zeros without rows. */
export function perRow(amounts: Amounts): Amounts {
  const { row } = amounts;
  return Object.fromEntries(PIECES.map((of) => [of, row === 0 ? 0 : amounts[of] / row])) as Amounts;
}
