import { BoundaryError } from '../errors.js';

const OPENING_BRACE = 0x7b;

/** The bytes that are parsed at once, about: few enough that their objects die young. */
const PIECE = 1 << 16;

/**
 * Rows of `{..., "data": [{...}, {...}, ...]}` that come in pieces, read by `JSON.parse` in JavaScript alone. The rows are flat:
 * the last opening brace begins the last row. One in a text makes a piece no JSON, which is an error and never a wrong row.
 */
export class RowPieces<Row> {
  readonly #array: RegExp;
  #begun = false;
  /** What came and was not parsed. */
  #pending: Buffer[] = [];
  #bytes = 0;

  /** `array`: the entry of the outermost object that holds the rows; those before it hold no arrays. */
  constructor(array: string) {
    this.#array = new RegExp(`^\\s*\\{[^[]*"${array}"\\s*:\\s*\\[`);
  }

  /** Takes the next bytes; returns rows that are whole. */
  feed(piece: Buffer): readonly Row[] {
    this.#pending.push(piece);
    this.#bytes += piece.length;
    if (this.#bytes < PIECE) return [];
    const bytes = this.#pending.length === 1 ? piece : Buffer.concat(this.#pending);
    const last = bytes.lastIndexOf(OPENING_BRACE);
    if (last <= 0) return this.#keep(bytes, []);
    const text = this.#unwrapped(bytes.toString('utf8', 0, last));
    return this.#keep(bytes.subarray(text === undefined ? 0 : last), text === undefined ? [] : parsed(text));
  }

  /** There are no more bytes; returns the last rows. */
  finish(): readonly Row[] {
    const text = this.#unwrapped(Buffer.concat(this.#pending).toString('utf8'));
    const end = text?.lastIndexOf(']') ?? -1;
    if (text === undefined || end === -1 || !/^\]\s*(,[^[\]{]*)?\}\s*$/.test(text.slice(end))) {
      throw new BoundaryError('BB_INVALID_VALUE', 'the rows end early');
    }
    return parsed(text.slice(0, end));
  }

  #keep(rest: Buffer, rows: readonly Row[]): readonly Row[] {
    this.#pending = [rest];
    this.#bytes = rest.length;
    return rows;
  }

  /** What follows the beginning of the array; `undefined` where that has not come. */
  #unwrapped(text: string): string | undefined {
    if (this.#begun) return text;
    const begin = this.#array.exec(text);
    if (begin === null) return undefined;
    this.#begun = true;
    return text.slice(begin[0].length);
  }
}

/** The rows of a text, whose last one may have a comma behind it. */
function parsed<Row>(text: string): Row[] {
  const rows = text.slice(0, text.lastIndexOf('}') + 1);
  if (text.slice(rows.length).trim().replace(',', '') !== '') {
    throw new BoundaryError('BB_INVALID_VALUE', 'what came is no JSON of rows');
  }
  try {
    return JSON.parse(`[${rows}]`) as Row[];
  } catch (cause) {
    throw new BoundaryError('BB_INVALID_VALUE', 'what came is no JSON of rows', { cause });
  }
}
