/** The work of one request, by the cell's workload and lane, on the addon's client or on another. */
import { setTimeout as delay } from 'node:timers/promises';
import { crossing } from '../../crossing-addon.js';
import type { ParameterInput } from '../../library/engine/parameters.js';
import { SqlClient } from '../../library/sql/sql-client.js';
import type { SqlResults } from '../../library/sql/sql-results.js';
import type { SqlAnswer, JsSqlConnection } from '../../clients/js-sql-client.js';
import { operationsOf, type PlannedRequests, requestsOf } from '../requests/grid.js';
import type { Requester } from '../requests/load.js';
import type { SqlSums } from './data.js';
import { BEGIN, COMMIT, ROLLBACK, type SqlPlan, type SqlStep } from './plan.js';
import { answerOf, read, readAll, readColumns, readRows } from './read-answers.js';

/** The time that a request under way has to be answered when its connection is closed, in milliseconds. */
const LAST_REQUEST_MS = 1000;

/** A connection of a cell. */
export interface SqlRequester extends Requester {
  /** Sends request `index` as in a sample. Resolves to the statements with their answers, rows as values. */
  answers(index: number): Promise<readonly (readonly [SqlStep, SqlAnswer])[]>;
}

/** The state that the requests of a cell share. */
export interface SqlShared {
  readonly planned: PlannedRequests;
  readonly plan: SqlPlan;
  /** The table's name, which needs no quotes. */
  readonly table: string;
  /** The sums of the values read since the sample began. */
  sums(): SqlSums;
}

/** A client in the form that requests use. A client that only runs single statements lacks a part of it. */
interface SqlConnection
  extends
    Pick<JsSqlConnection, 'ping' | 'request' | 'close'>,
    Partial<Pick<JsSqlConnection, 'requests' | 'insertRows'>> {
  /** Runs statements together and reads their responses in a way of its own; absent: each answer of `requests` is read. */
  many?(steps: readonly SqlStep[], sums: SqlSums): Promise<void>;
}

/** Opens a connection of the addon's client, or one whose calls cross one by one. */
export async function openNapiRequester(work: SqlShared, url: string): Promise<SqlRequester> {
  const { lane } = work.planned.cell;
  if (lane === 'call-async' || lane === 'call-blocking') {
    const calls = await crossing.SqlCalls.open(url, lane === 'call-blocking');
    return requester(work, {
      ping: () => calls.ping(),
      request: ({ sql, parameters = [] }) => calls.execute(sql, parameters as ParameterInput[]),
      close: async () => calls.close(),
    });
  }
  const { setting } = work.planned;
  const client = await SqlClient.connect(url, { ...(setting !== 'shared' && { connections: 1 }), int64: 'number' });
  return requester(work, new AddonConnection(client, setting === 'rows'));
}

/** The requester on a connection. */
export function requester(work: SqlShared, connection: SqlConnection): SqlRequester {
  const state: RequesterState = { isOpen: false };
  /** The last request, which goes on if the load has ended because another request failed. */
  let last: Promise<unknown> | undefined;
  return {
    request: (index) => (last = request(work, connection, index, state)),
    answers: (index) => (last = answers(work, connection, index, state)) as ReturnType<SqlRequester['answers']>,
    close: async () => {
      const isIdle = await Promise.race([
        Promise.allSettled([last]),
        delay(LAST_REQUEST_MS, undefined, { ref: false }),
      ]);
      // Not every server ends the transaction of a connection that is closed.
      if (state.isOpen && isIdle !== undefined) await connection.request(ROLLBACK).catch(() => {});
      await connection.close();
    },
  };
}

/** The state of a requester's connection. */
interface RequesterState {
  /** Whether the connection may be in a transaction. */
  isOpen: boolean;
}

/** Whether a request is the last one of its connection in a sample. */
function isLast(cell: PlannedRequests['cell'], index: number): boolean {
  return index + cell.connections >= requestsOf(cell);
}

async function answers(
  { planned: { cell }, plan, table }: SqlShared,
  connection: SqlConnection,
  index: number,
  state: RequesterState,
): Promise<readonly (readonly [SqlStep, SqlAnswer])[]> {
  const { from, to } = operationsOf(cell, index);
  const steps = stepsOf(plan, table, from, to);
  state.isOpen = plan.workload.transaction !== undefined;
  if (cell.lane === 'batch') {
    const all = await connection.requests!(steps);
    state.isOpen = false;
    return steps.map((step, at) => [step, all[at]!]);
  }
  const each: [SqlStep, SqlAnswer][] = [];
  // oxlint-disable-next-line no-await-in-loop -- that is the lane
  for (const step of steps) each.push([step, step.isPing ? { affectedRows: 0 } : await connection.request(step)]);
  state.isOpen = false;
  return each;
}

/** The statements of the operations `from` to `to`, the last one excluded. */
function stepsOf(plan: SqlPlan, table: string, from: number, to: number): SqlStep[] {
  const steps: SqlStep[] = [];
  for (let operation = from; operation < to; operation += 1) steps.push(...plan.steps(operation, table));
  return steps;
}

async function request(
  work: SqlShared,
  connection: SqlConnection,
  index: number,
  state: RequesterState,
): Promise<void> {
  const { planned, plan, table } = work;
  const { cell } = planned;
  const sums = work.sums();
  const { from, to } = operationsOf(cell, index);
  const { transaction } = plan.workload;
  const bySample = transaction === 'sample';
  state.isOpen = transaction !== undefined;
  if (bySample && index < cell.connections) await one(connection, BEGIN, sums);
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
  if (bySample && isLast(cell, index)) await one(connection, COMMIT, sums);
  state.isOpen = bySample && !isLast(cell, index);
}

/** Runs a statement and reads its response. */
async function one(connection: SqlConnection, step: SqlStep, sums: SqlSums): Promise<void> {
  if (step.isPing) {
    await connection.ping();
    sums.rows += 1;
    return;
  }
  read(step.answers, await connection.request(step), sums);
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
