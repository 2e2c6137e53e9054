/**
 * Rows filtered by an expression: `age > 18 AND active = TRUE`. `native/suite/src/codec/filter.rs` has the same in Rust. The row
 * `i` has the age `i % 80`, and is active if `i` is even. An operation is a row. Its result is 1 if the row matches. All sides
 * count the rows that match.
 */
import { crossing } from '../../crossing-addon.js';
import { checksumMismatch } from '../../errors.js';
import { sumOfTurns } from '../in-process.js';
import { FILTER, compileForColumns, compileForRow } from './expression.js';
import { CODEC_MATRIX, type CodecCell, type Topic, overPlaces } from './topic.js';

/** The columns of a row that the expression names. */
export interface FilterRow {
  readonly age: number;
  readonly active: boolean;
}

/** Counts the rows that match of `count` rows from `start` on. */
export type CountRows = (start: number, count: number) => number;

/** The rows of the family, as rows and as columns. */
export const FILTER_ROWS: readonly FilterRow[] = Array.from({ length: CODEC_MATRIX.filterRows }, (_, row) => ({
  age: row % 80,
  active: row % 2 === 0,
}));

const MATCHES: readonly boolean[] = FILTER_ROWS.map(({ age, active }) => age > 18 && active);

export const filterTopic: Topic = {
  resultOf: (_cell, operations) => sumOfTurns(MATCHES.map(Number), operations),
  open: (cell) => overPlaces(FILTER_ROWS.length, cell.batch, countOf(cell)),
  verify: (cell) => verifyCount(countOf(cell), cell.batch),
};

function countOf({ lane, client, batch }: CodecCell): CountRows {
  if (lane === 'columns') return client === undefined ? columnsInJavaScript() : columnsInRust();
  if (client === undefined) return rowsInJavaScript(batch);
  return lane === 'call' ? rowsInRust() : arraysInRust();
}

function rowsInJavaScript(batch: number): CountRows {
  const matches = compileForRow<FilterRow>(FILTER);
  if (batch === 1) return (start) => (matches(FILTER_ROWS[start]!) ? 1 : 0);
  return (start, count) => {
    let sum = 0;
    for (let row = start; row < start + count; row += 1) if (matches(FILTER_ROWS[row]!)) sum += 1;
    return sum;
  };
}

function rowsInRust(): CountRows {
  const { rowMatches } = crossing.codec;
  return (start) => {
    const { age, active } = FILTER_ROWS[start]!;
    return rowMatches(age, active) ? 1 : 0;
  };
}

function arraysInRust(): CountRows {
  const { countMatchingRows } = crossing.codec;
  const all = FILTER_ROWS.length;
  return (start, count) => countMatchingRows(count === all ? FILTER_ROWS : FILTER_ROWS.slice(start, start + count));
}

/** The columns of the rows from `start` on. */
function columnsOf(start: number, count: number): { readonly age: Int32Array; readonly active: Uint8Array } {
  const rows = FILTER_ROWS.slice(start, start + count);
  return {
    age: Int32Array.from(rows, ({ age }) => age),
    active: Uint8Array.from(rows, ({ active }) => Number(active)),
  };
}

/** Counts matching rows by their columns, which are made once for all rows, and at each call for a part of them. */
function ofColumns(count: (age: Int32Array, active: Uint8Array) => number): CountRows {
  const all = columnsOf(0, FILTER_ROWS.length);
  return (start, rows) => {
    const { age, active } = rows === all.age.length ? all : columnsOf(start, rows);
    return count(age, active);
  };
}

function columnsInJavaScript(): CountRows {
  const count = compileForColumns(FILTER, ['age', 'active']);
  return ofColumns((age, active) => count(age.length, age, active));
}

function columnsInRust(): CountRows {
  return ofColumns(crossing.codec.columnFilter());
}

/** Throws unless each row by itself is counted as it must, and so is each batch. */
export function verifyCount(count: CountRows, batch: number): void {
  const verify = (start: number, rows: number): void => {
    const expected = MATCHES.slice(start, start + rows).filter(Boolean).length;
    const found = count(start, rows);
    if (found === expected) return;
    throw checksumMismatch(`${found} of ${rows} rows from ${start} on match instead of ${expected}`);
  };
  for (let row = 0; row < MATCHES.length; row += 1) verify(row, 1);
  for (let start = 0; start < MATCHES.length; start += batch) verify(start, batch);
}
