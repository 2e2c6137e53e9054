/** The check of each answer of a cell that reads: sums do not show that two answers were exchanged. */
import { checksumMismatch } from '../../errors.js';
import type { SqlAnswer } from '../../clients/js-sql-client.js';
import { kOf, textOf, userOf } from './data.js';
import { SQL_MATRIX } from './matrix.js';
import type { SqlStep } from './plan.js';

/** A row as an object, or as an array in the order of the columns. */
type AnyRow = Readonly<Record<string, unknown>> | readonly unknown[];

const USER_COLUMNS = SQL_MATRIX.tables.users!.columns;

/**
 * Checks the answer to a statement that reads a table of `rows` rows. Throws a `BoundaryError` with the code
 * `BB_CHECKSUM_MISMATCH` if it is not that statement's.
 */
export function checkAnswer(step: SqlStep, { rows: answered = [] }: SqlAnswer, rows: number): void {
  const found = answered as readonly AnyRow[];
  const expected = expectedRows(step, rows);
  if (expected === undefined) return;
  compareRows(
    found.map((row) => valuesOf(row, step)),
    expected,
    `${step.sql} with ${JSON.stringify(step.parameters ?? [])}`,
  );
}

/** Checks the rows of a whole table, in any order. Throws as `checkAnswer` does. */
export function checkTable(found: readonly (readonly unknown[])[], rows: readonly (readonly unknown[])[]): void {
  compareRows(found, new Set(rows.map(shownRow)), 'the table');
}

/** Compares rows with the expected ones, as `shownRow` shows them: each must come once. */
function compareRows(found: readonly (readonly unknown[])[], expected: Set<string>, asked: string): void {
  if (found.length !== expected.size)
    throw checksumMismatch(`${asked}: ${found.length} rows came instead of ${expected.size}`);
  for (const row of found) {
    const shown = shownRow(row);
    // A row that came twice is no longer expected.
    if (!expected.delete(shown)) throw checksumMismatch(`${asked}: the row ${shown} is none of its rows`);
  }
}

/** The rows of the answer, as `shownRow` shows them; undefined for a statement without rows. */
function expectedRows({ sql, parameters, reading }: SqlStep, rows: number): Set<string> | undefined {
  const [first = Number(/id = (\d+)/.exec(sql)?.[1]), last] = (parameters ?? []) as readonly number[];
  const isBetween = sql.includes('BETWEEN');
  const end = last === undefined ? first + 1 : isBetween ? last + 1 : last;
  const ids = Array.from({ length: Math.max(0, end - first) || 0 }, (_, at) => first + at);
  if (reading === 'users') return new Set(ids.map((id) => shownRow(userOf(id))));
  if (reading === 'texts') return new Set(ids.map((id) => shownRow([textOf(id, 0)])));
  if (reading !== 'number') return undefined;
  if (sql === 'SELECT 1') return new Set([shownRow([1])]);
  if (sql.startsWith('SELECT COUNT')) return new Set([shownRow([rows])]);
  return new Set([shownRow([ids.reduce((sum, id) => sum + kOf(id, rows), 0)])]);
}

function valuesOf(row: AnyRow, { reading }: SqlStep): readonly unknown[] {
  if (Array.isArray(row)) return row;
  const values = row as Readonly<Record<string, unknown>>;
  return reading === 'users' ? USER_COLUMNS.map((name) => values[name]) : Object.values(values);
}

/** Values as text, in which drivers agree: truth values as numbers, sums that come as decimals without their type. */
function shownRow(values: readonly unknown[]): string {
  return values.map((value) => String(typeof value === 'boolean' ? Number(value) : value)).join(', ');
}
