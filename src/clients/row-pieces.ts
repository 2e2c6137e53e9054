import { BoundaryError } from '../errors.js';

const OPENING_BRACE = 0x7b;

/** The approximate number of bytes parsed at once: few enough that their objects die young. */
const PIECE = 1 << 16;

/**
 * Parser of the rows of `{..., "data": [{...}, {...}, ...]}` that arrive in pieces, by `JSON.parse` in JavaScript
 * alone. The rows are flat: the last opening brace begins the last row. A brace in a string makes a piece invalid JSON,
 * which is an error and never a wrong row.
 */
export class RowPieces<Row> {
  readonly #array: RegExp;
  #begun = false;
  /** The bytes received and not parsed yet. */
  #pending: Buffer[] = [];
  #bytes = 0;

  /** `array`: the name of the entry of the outermost object that holds the rows. Entries before it hold no arrays. */
  constructor(array: string) {
    this.#array = new RegExp(`^\\s*\\{[^[]*"${array}"\\s*:\\s*\\[`);
  }

  /** Takes the next bytes. Returns the rows that are complete. */
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

  /** Ends the input. Returns the last rows. */
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

  /** The text after the beginning of the array; `undefined` if that has not arrived yet. */
  #unwrapped(text: string): string | undefined {
    if (this.#begun) return text;
    const begin = this.#array.exec(text);
    if (begin === null) return undefined;
    this.#begun = true;
    return text.slice(begin[0].length);
  }
}

/** The rows in a text, which may end with a comma. */
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
