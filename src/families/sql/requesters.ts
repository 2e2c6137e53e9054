/** The work of one request, by the cell's workload and lane, on the addon's client or on another. */
import { addon, type SqlAsyncCalls, type SqlBlockingCalls } from '../../addon.js';
import { BoundaryError } from '../../errors.js';
import type { ColumnarChunk } from '../../library/engine/columnar-chunk.js';
import { SqlClient } from '../../library/sql/sql-client.js';
import type { SqlResult, SqlResults } from '../../library/sql/sql-results.js';
import type { SqlAnswer, JsSqlConnection } from '../../clients/js-sql-client.js';
import { operationsOf, type PlannedRequests, requestsOf } from '../requests/grid.js';
import type { Requester } from '../requests/load.js';
import type { SqlSums } from './data.js';
import type { Reading, SqlPlan, SqlStep } from './plan.js';

/** A connection of a cell. */
export interface SqlRequester extends Requester {
  /** Sends request `index` as in a sample; resolves to the statements with their answers, rows as values. */
  answers(index: number): Promise<readonly (readonly [SqlStep, SqlAnswer])[]>;
  close(): Promise<void>;
}

/** The state that the requests of a cell share. */
export interface SqlWork {
  readonly planned: PlannedRequests;
  readonly plan: SqlPlan;
  /** The table's name, which needs no quotes. */
  readonly table: string;
  /** The sums of the values read since the sample began. */
  sums(): SqlSums;
}

/** A client, in the form that requests use. */
interface SqlConnection {
  ping(): Promise<unknown>;
  /** Runs statements together and reads their responses; absent if the client runs single statements alone. */
  many?(steps: readonly SqlStep[], sums: SqlSums): Promise<void>;
  /** Runs a statement; resolves to its answer. */
  answer(step: SqlStep): Promise<SqlAnswer>;
  /** Runs statements together; resolves to their answers; absent as `many` is. */
  answers?(steps: readonly SqlStep[]): Promise<readonly SqlAnswer[]>;
  /** Absent if the client runs single statements alone. */
  insertRows?(table: string, columns: readonly string[], rows: SqlPlan['users']): Promise<number>;
  close(): Promise<void>;
}

/** Opens a connection of the addon's client, or one whose calls cross one by one. */
export async function openNapiRequester(work: SqlWork, url: string): Promise<SqlRequester> {
  const { lane } = work.planned.cell;
  if (lane === 'call-async' || lane === 'call-blocking') {
    const Calls = lane === 'call-async' ? addon.SqlAsyncCalls : addon.SqlBlockingCalls;
    return requester(work, new AddonCalls(await Calls.open(url)));
  }
  const client = await SqlClient.connect(url, { connections: 1, int64: 'number' });
  return requester(work, new AddonConnection(client, work.planned.setting === 'rows'));
}

/** Makes a requester on a connection of another client. */
export function jsRequester(work: SqlWork, connection: JsSqlConnection): SqlRequester {
  return requester(work, new JsConnection(connection));
}

function requester(work: SqlWork, connection: SqlConnection): SqlRequester {
  return {
    request: (index) => request(work, connection, index),
    answers: (index) => answers(work, connection, index),
    close: () => connection.close(),
  };
}

async function answers(
  { planned: { cell }, plan, table }: SqlWork,
  connection: SqlConnection,
  index: number,
): Promise<readonly (readonly [SqlStep, SqlAnswer])[]> {
  const { from, to } = operationsOf(cell, index);
  const steps = stepsOf(plan, table, from, to);
  if (cell.lane === 'batch') {
    const all = await connection.answers!(steps);
    return steps.map((step, at) => [step, all[at]!]);
  }
  const each: [SqlStep, SqlAnswer][] = [];
  // oxlint-disable-next-line no-await-in-loop -- that is the lane
  for (const step of steps) each.push([step, step.isPing ? { affectedRows: 0 } : await connection.answer(step)]);
  return each;
}

/** The statements of the operations `from` to `to`, the last one excluded. */
function stepsOf(plan: SqlPlan, table: string, from: number, to: number): SqlStep[] {
  const steps: SqlStep[] = [];
  for (let operation = from; operation < to; operation += 1) steps.push(...plan.steps(operation, table));
  return steps;
}

async function request(work: SqlWork, connection: SqlConnection, index: number): Promise<void> {
  const { planned, plan, table } = work;
  const { cell } = planned;
  const sums = work.sums();
  const { from, to } = operationsOf(cell, index);
  const bySample = plan.workload.transaction === 'sample';
  if (bySample && index < cell.threads) await one(connection, control('BEGIN'), sums);
  if (plan.isRows) {
    const rows = plan.users.slice(from, to);
    const inserted = await connection.insertRows!(table, plan.table!.columns, rows);
    sums.affected += inserted;
  } else if (cell.lane === 'batch') {
    await connection.many!(stepsOf(plan, table, from, to), sums);
  } else {
    for (let operation = from; operation < to; operation += 1) {
      // Each step waits for the response to the previous one.
      // oxlint-disable-next-line no-await-in-loop -- that is the lane
      for (const step of plan.steps(operation, table)) await one(connection, step, sums);
    }
  }
  if (bySample && index + cell.threads >= requestsOf(cell)) await one(connection, control('COMMIT'), sums);
}

/** Runs a statement and reads its response. */
async function one(connection: SqlConnection, step: SqlStep, sums: SqlSums): Promise<void> {
  if (step.isPing) {
    await connection.ping();
    sums.rows += 1;
    return;
  }
  read(step.reading, await connection.answer(step), sums);
}

function control(sql: string): SqlStep {
  return { sql, parameters: undefined, reading: 'nothing', isPing: false };
}

/** The addon's client. */
class AddonConnection implements SqlConnection {
  readonly #client: SqlClient;
  readonly #asRows: boolean;

  /** `asRows`: the rows of a batch are read as objects, not as columns. */
  constructor(client: SqlClient, asRows: boolean) {
    this.#client = client;
    this.#asRows = asRows;
  }

  ping(): Promise<void> {
    return this.#client.ping();
  }

  async many(steps: readonly SqlStep[], sums: SqlSums): Promise<void> {
    const results = await this.#run(steps);
    if (this.#asRows) readRows(steps, results, sums);
    else readColumns(steps, results, sums);
  }

  async answer({ sql, parameters }: SqlStep): Promise<SqlAnswer> {
    return answerOf(
      parameters === undefined ? await this.#client.query(sql) : await this.#client.execute(sql, parameters),
    );
  }

  async answers(steps: readonly SqlStep[]): Promise<readonly SqlAnswer[]> {
    const results = await this.#run(steps);
    return steps.map((_, index) => answerOf(results.at(index)));
  }

  async #run(steps: readonly SqlStep[]): Promise<SqlResults> {
    const first = steps[0]!;
    const isOne = first.parameters !== undefined && steps.every(({ sql }) => sql === first.sql);
    const results = isOne
      ? await this.#client.queryMany(
          first.sql,
          steps.map(({ parameters }) => parameters!),
        )
      : await this.#client.run(steps);
    results.throwIfFailed();
    return results;
  }

  insertRows(table: string, columns: readonly string[], rows: SqlPlan['users']): Promise<number> {
    return this.#client.insertRows(table, columns, rows);
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}

function answerOf(result: SqlResult): SqlAnswer {
  return { rows: result.rowCount === 0 ? undefined : result.rows(), affectedRows: result.affectedRows };
}

/** A client of the addon whose calls cross one by one. */
class AddonCalls implements SqlConnection {
  readonly #calls: SqlAsyncCalls | SqlBlockingCalls;

  constructor(calls: SqlAsyncCalls | SqlBlockingCalls) {
    this.#calls = calls;
  }

  ping(): Promise<void> {
    return this.#calls.ping();
  }

  answer({ sql, parameters = [] }: SqlStep): Promise<SqlAnswer> {
    return this.#calls.execute(sql, parameters);
  }

  async close(): Promise<void> {
    this.#calls.close();
  }
}

/** Reads the responses to many requests statement by statement, column by column. */
function readColumns(steps: readonly SqlStep[], results: SqlResults, sums: SqlSums): void {
  const seen = new Set<string>();
  for (const { sql, reading } of steps) {
    if (reading === 'answer') sums.rows += 1;
    if (seen.has(sql)) continue;
    // Statements are numbered in the order of their first occurrence.
    const chunk = results.chunk(seen.size);
    seen.add(sql);
    if (chunk !== undefined) addChunk(reading, chunk, sums);
  }
  sums.affected += results.affectedRows;
}

function addChunk(reading: Reading, chunk: ColumnarChunk, sums: SqlSums): void {
  sums.rows += chunk.rowCount;
  if (reading === 'users') {
    sums.ints += total(chunk.column('id')) + total(chunk.column('age')) + total(chunk.column('active'));
    sums.doubles += total(chunk.column('score'));
    sums.texts += totalLength(chunk.offsets('name')) + totalLength(chunk.offsets('email'));
  } else if (reading === 'texts') {
    sums.texts += totalLength(chunk.offsets(0));
  } else {
    for (const value of chunk.values(0)) sums.ints += Number(value);
  }
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

function readRows(steps: readonly SqlStep[], results: SqlResults, sums: SqlSums): void {
  for (const [index, { reading }] of steps.entries()) read(reading, answerOf(results.at(index)), sums);
}

/** A client that is compared with the addon's. */
class JsConnection implements SqlConnection {
  readonly #connection: JsSqlConnection;

  constructor(connection: JsSqlConnection) {
    this.#connection = connection;
  }

  ping(): Promise<unknown> {
    return this.#connection.ping();
  }

  async many(steps: readonly SqlStep[], sums: SqlSums): Promise<void> {
    const answers = await this.answers(steps);
    for (let index = 0; index < steps.length; index += 1) read(steps[index]!.reading, answers[index]!, sums);
  }

  answer(step: SqlStep): Promise<SqlAnswer> {
    return this.#connection.request(step);
  }

  answers(steps: readonly SqlStep[]): Promise<readonly SqlAnswer[]> {
    return this.#connection.requests(steps);
  }

  insertRows(table: string, columns: readonly string[], rows: SqlPlan['users']): Promise<number> {
    return this.#connection.insertRows(table, columns, rows);
  }

  close(): Promise<void> {
    return this.#connection.close();
  }
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

function read(reading: Reading, answer: SqlAnswer, sums: SqlSums): void {
  const { rows = [], affectedRows } = answer;
  const areArrays = Array.isArray(rows[0]);
  switch (reading) {
    case 'users':
      if (areArrays) addUserValues(rows as readonly unknown[] as readonly UserValues[], sums);
      else addUsers(rows as readonly unknown[] as readonly UserRow[], sums);
      return;
    case 'texts':
      sums.rows += rows.length;
      for (const row of rows) sums.texts += (areArrays ? (row as string[])[0]! : (row as { c: string }).c).length;
      return;
    case 'number':
      for (const row of rows as readonly Readonly<Record<string, unknown>>[]) {
        sums.rows += 1;
        for (const name in row) sums.ints += Number(row[name]);
      }
      return;
    case 'answer':
      if (answer.rows !== undefined) throw new BoundaryError('BB_INTERNAL', 'rows came where none were expected');
      sums.rows += 1;
      return;
    case 'affected':
      sums.affected += affectedRows;
      return;
    case 'nothing':
  }
}
