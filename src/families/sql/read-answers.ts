/** The readers of the answers to statements: their sums, by the kind of each answer, from rows of every form and from columns. */
import type { SqlAnswer } from '../../clients/js-sql-client.js';
import { BoundaryError } from '../../errors.js';
import type { ColumnarChunk } from '../../library/engine/columnar-chunk.js';
import type { SqlResult, SqlResults } from '../../library/sql/sql-results.js';
import { type SqlSums, versionOf } from './data.js';
import type { SqlStep, StepAnswer } from './plan.js';

/** The answer of a request. */
export function answerOf(result: SqlResult): SqlAnswer {
  return { rows: result.rowCount === 0 ? undefined : result.rows(), affectedRows: result.affectedRows };
}

/** Reads the responses to many requests statement by statement, column by column. */
export function readColumns(steps: readonly SqlStep[], results: SqlResults, sums: SqlSums): void {
  const seen = new Set<string>();
  for (const { sql, answers } of steps) {
    if (answers === 'nothing') sums.rows += 1;
    if (seen.has(sql)) continue;
    // Statements are numbered in the order of their first occurrence.
    const chunk = results.chunk(seen.size);
    seen.add(sql);
    if (chunk !== undefined) addChunk(answers, chunk, sums);
  }
  sums.affected += results.affectedRows;
}

function addChunk(answers: StepAnswer, chunk: ColumnarChunk, sums: SqlSums): void {
  if (answers === 'users') return addUserColumns(chunk, sums);
  sums.rows += chunk.rowCount;
  if (answers === 'texts') {
    sums.texts += totalLength(chunk.offsets(0));
  } else {
    for (const value of chunk.values(0)) sums.ints += Number(value);
  }
}

/** Adds rows of users, column by column. */
export function addUserColumns(chunk: ColumnarChunk, sums: SqlSums): void {
  sums.rows += chunk.rowCount;
  sums.ints += total(chunk.column('id')) + total(chunk.column('age')) + total(chunk.column('active'));
  sums.doubles += total(chunk.column('score'));
  sums.texts += totalLength(chunk.offsets('name')) + totalLength(chunk.offsets('email'));
}

/** Adds rows of sysbench's table, column by column. */
export function addSbtestColumns(chunk: ColumnarChunk, sums: SqlSums): void {
  sums.rows += chunk.rowCount;
  sums.ints += total(chunk.column('id')) + total(chunk.column('k'));
  for (const text of chunk.values('c')) sums.ints += versionOf(text as string);
  sums.texts += totalLength(chunk.offsets('c')) + totalLength(chunk.offsets('pad'));
}

function total(values: ArrayLike<number | bigint>): number {
  let sum = 0;
  for (let index = 0; index < values.length; index += 1) sum += Number(values[index]);
  return sum;
}

/** The bytes of texts, summed one by one as on the other sides. */
function totalLength(offsets: ArrayLike<number>): number {
  let sum = 0;
  for (let index = 1; index < offsets.length; index += 1) sum += offsets[index]! - offsets[index - 1]!;
  return sum;
}

/** Reads the responses to many requests one by one, as rows. */
export function readRows(steps: readonly SqlStep[], results: SqlResults, sums: SqlSums): void {
  for (const [index, { answers }] of steps.entries()) read(answers, answerOf(results.at(index)), sums);
}

/** Reads the answers to statements. */
export function readAll(steps: readonly SqlStep[], all: readonly SqlAnswer[], sums: SqlSums): void {
  for (let index = 0; index < steps.length; index += 1) read(steps[index]!.answers, all[index]!, sums);
}

interface UserRow {
  readonly id: number;
  readonly name: string;
  readonly age: number;
  readonly active: boolean | number;
  readonly score: number;
  readonly email: string;
}

/** A row of users as an array, in the order of the table's columns. */
type UserValues = readonly [
  id: number,
  name: string,
  age: number,
  active: boolean | number,
  score: number,
  email: string,
];

// A loop each, since rows of both forms in one would be compiled for neither.

function addUsers(rows: readonly UserRow[], sums: SqlSums): void {
  for (const row of rows) {
    sums.rows += 1;
    sums.ints += row.id + row.age + Number(row.active);
    sums.doubles += row.score;
    sums.texts += row.name.length + row.email.length;
  }
}

function addUserValues(rows: readonly UserValues[], sums: SqlSums): void {
  for (const row of rows) {
    sums.rows += 1;
    sums.ints += row[0] + row[2] + Number(row[3]);
    sums.doubles += row[4];
    sums.texts += row[1].length + row[5].length;
  }
}

/** Reads the answer to a statement of this kind. */
export function read(answers: StepAnswer, answer: SqlAnswer, sums: SqlSums): void {
  const { rows = [], affectedRows } = answer;
  const areArrays = Array.isArray(rows[0]);
  switch (answers) {
    case 'users':
      if (areArrays) addUserValues(rows as readonly unknown[] as readonly UserValues[], sums);
      else addUsers(rows as readonly unknown[] as readonly UserRow[], sums);
      return;
    case 'texts':
      sums.rows += rows.length;
      for (const row of rows) sums.texts += (areArrays ? (row as string[])[0]! : (row as { c: string }).c).length;
      return;
    case 'one':
    case 'count':
    case 'sumOfK':
      for (const row of rows as readonly Readonly<Record<string, unknown>>[]) {
        sums.rows += 1;
        for (const name in row) sums.ints += Number(row[name]);
      }
      return;
    case 'nothing':
      if (answer.rows !== undefined) throw new BoundaryError('BB_INTERNAL', 'rows came where none were expected');
      sums.rows += 1;
      return;
    case 'affected':
      sums.affected += affectedRows;
      return;
    case 'control':
  }
}
