/** The check of each answer of a cell that reads: sums do not show that two answers were exchanged. */
import { checksumMismatch } from '../../errors.js';
import type { SqlAnswer } from '../../clients/js-sql-client.js';
import { textOf, userOf } from './data.js';
import { SQL_MATRIX } from './matrix.js';
import { idsOf, type SqlPlan, type SqlStep } from './plan.js';

/** A row as an object, or as an array in the order of the columns. */
type AnyRow = Readonly<Record<string, unknown>> | readonly unknown[];

const USER_COLUMNS = SQL_MATRIX.tables.users!.columns;

/**
 * Checks the answer to a statement that reads. Throws a `BoundaryError` with the code
 * `BB_CHECKSUM_MISMATCH` if it is not that statement's.
 */
export function checkAnswer(step: SqlStep, { rows: answered = [] }: SqlAnswer, plan: SqlPlan): void {
  const found = answered as readonly AnyRow[];
  const expected = expectedRows(step, plan);
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
function expectedRows({ answers, ids }: SqlStep, plan: SqlPlan): Set<string> | undefined {
  switch (answers) {
    case 'users':
      return new Set(idsOf(ids).map((id) => shownRow(userOf(id))));
    case 'texts':
      return new Set(idsOf(ids).map((id) => shownRow([textOf(id, 0)])));
    case 'one':
    case 'count':
    case 'sumOfK':
      return new Set([shownRow([plan.numberOf(answers, ids)])]);
    default:
      return undefined;
  }
}

function valuesOf(row: AnyRow, { answers }: SqlStep): readonly unknown[] {
  if (Array.isArray(row)) return row;
  const values = row as Readonly<Record<string, unknown>>;
  return answers === 'users' ? USER_COLUMNS.map((name) => values[name]) : Object.values(values);
}

/** Values as text, in which drivers agree: truth values as numbers, sums that come as decimals without their type. */
function shownRow(values: readonly unknown[]): string {
  return values.map((value) => String(typeof value === 'boolean' ? Number(value) : value)).join(', ');
}
