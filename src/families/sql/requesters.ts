/** The work of one request, by the cell's workload and lane, on the addon's client or on another. */
import { addon } from '../../addon.js';
import { BoundaryError } from '../../errors.js';
import type { ColumnarChunk } from '../../library/engine/columnar-chunk.js';
import type { ParameterInput } from '../../library/engine/parameters.js';
import { SqlClient } from '../../library/sql/sql-client.js';
import type { SqlResult, SqlResults } from '../../library/sql/sql-results.js';
import type { SqlAnswer, JsSqlConnection } from '../../clients/js-sql-client.js';
import { operationsOf, type PlannedRequests, requestsOf } from '../requests/grid.js';
import type { Requester } from '../requests/load.js';
import type { SqlSums } from './data.js';
import { BEGIN, COMMIT, type Reading, type SqlPlan, type SqlStep } from './plan.js';

/** A connection of a cell. */
export interface SqlRequester extends Requester {
  /** Sends request `index` as in a sample; resolves to the statements with their answers, rows as values. */
  answers(index: number): Promise<readonly (readonly [SqlStep, SqlAnswer])[]>;
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

/** A client in the form that requests use; one that runs single statements alone has not all of it. */
interface SqlConnection
  extends
    Pick<JsSqlConnection, 'ping' | 'request' | 'close'>,
    Partial<Pick<JsSqlConnection, 'requests' | 'insertRows'>> {
  /** Runs statements together and reads their responses in a way of its own; absent: each answer of `requests` is read. */
  many?(steps: readonly SqlStep[], sums: SqlSums): Promise<void>;
}

/** Opens a connection of the addon's client, or one whose calls cross one by one. */
export async function openNapiRequester(work: SqlWork, url: string): Promise<SqlRequester> {
  const { lane } = work.planned.cell;
  if (lane === 'call-async' || lane === 'call-blocking') {
    const Calls = lane === 'call-async' ? addon.SqlAsyncCalls : addon.SqlBlockingCalls;
    const calls = await Calls.open(url);
    return requester(work, {
      ping: () => calls.ping(),
      request: ({ sql, parameters = [] }) => calls.execute(sql, parameters as ParameterInput[]),
      close: async () => calls.close(),
    });
  }
  const client = await SqlClient.connect(url, { connections: 1, int64: 'number' });
  return requester(work, new AddonConnection(client, work.planned.setting === 'rows'));
}

/** The requester on a connection. */
export function requester(work: SqlWork, connection: SqlConnection): SqlRequester {
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
    const all = await connection.requests!(steps);
    return steps.map((step, at) => [step, all[at]!]);
  }
  const each: [SqlStep, SqlAnswer][] = [];
  // oxlint-disable-next-line no-await-in-loop -- that is the lane
  for (const step of steps) each.push([step, step.isPing ? { affectedRows: 0 } : await connection.request(step)]);
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
  if (bySample && index < cell.threads) await one(connection, BEGIN, sums);
  if (plan.isRows) {
    const rows = plan.users.slice(from, to);
    const inserted = await connection.insertRows!(table, plan.table!.columns, rows);
    sums.affected += inserted;
  } else if (cell.lane === 'batch') {
    const steps = stepsOf(plan, table, from, to);
    if (connection.many === undefined) readAll(steps, await connection.requests!(steps), sums);
    else await connection.many(steps, sums);
  } else {
    for (let operation = from; operation < to; operation += 1) {
      // Each step waits for the response to the previous one.
      // oxlint-disable-next-line no-await-in-loop -- that is the lane
      for (const step of plan.steps(operation, table)) await one(connection, step, sums);
    }
  }
  if (bySample && index + cell.threads >= requestsOf(cell)) await one(connection, COMMIT, sums);
}

/** Runs a statement and reads its response. */
async function one(connection: SqlConnection, step: SqlStep, sums: SqlSums): Promise<void> {
  if (step.isPing) {
    await connection.ping();
    sums.rows += 1;
    return;
  }
  read(step.reading, await connection.request(step), sums);
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

  async request({ sql, parameters }: SqlStep): Promise<SqlAnswer> {
    return answerOf(
      parameters === undefined ? await this.#client.query(sql) : await this.#client.execute(sql, parameters),
    );
  }

  async requests(steps: readonly SqlStep[]): Promise<readonly SqlAnswer[]> {
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

function readAll(steps: readonly SqlStep[], all: readonly SqlAnswer[], sums: SqlSums): void {
  for (let index = 0; index < steps.length; index += 1) read(steps[index]!.reading, all[index]!, sums);
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
