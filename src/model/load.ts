import { BoundaryError } from '../errors.js';
import type { Load } from './pieces.js';

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
