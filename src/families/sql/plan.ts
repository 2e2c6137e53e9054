/** The work of a cell: the statements of its workload, their parameters, and the expected sums. */
import { invalidArgument } from '../../errors.js';
import type { ParameterInput } from '../../library/engine/parameters.js';
import type { PlannedRequests } from '../requests/grid.js';
import { keyOf, kOf, sbtestOf, SqlSums, TEXT_LENGTH, textOf, type User, userOf } from './data.js';
import { type ParameterKind, SQL_MATRIX, type SqlWorkload, type Step, type TableEntry } from './matrix.js';

const { rangeRows: RANGE_ROWS } = SQL_MATRIX;

/** The fewest rows of a table. */
const LEAST_ROWS = 10 * RANGE_ROWS;

/** How a response is read: rows of users, rows of the column `c`, a number, or the number of rows changed. */
export type Reading = 'users' | 'texts' | 'number' | 'answer' | 'affected' | 'nothing';

/** A request for a statement, or for a ping. */
export interface SqlStep {
  readonly sql: string;
  /** The parameters; undefined if the statement is sent as text. */
  readonly parameters: readonly ParameterInput[] | undefined;
  readonly reading: Reading;
  readonly isPing: boolean;
}

export const BEGIN: SqlStep = { sql: 'BEGIN', parameters: undefined, reading: 'nothing', isPing: false };
export const COMMIT: SqlStep = { sql: 'COMMIT', parameters: undefined, reading: 'nothing', isPing: false };

/** One execution of a step. */
interface Turn {
  readonly operation: number;
  /** The number of the execution, over all operations. */
  readonly number: number;
  readonly thread: number;
}

export class SqlPlan {
  readonly workload: SqlWorkload;
  /** The table's columns and definition, with its number of rows in this cell. */
  readonly table: TableEntry | undefined;
  readonly writes: boolean;
  /** Whether the table is empty before a sample. */
  readonly startsEmpty: boolean;
  /** Whether all rows of a request are inserted together. */
  readonly isRows: boolean;
  readonly #rows: number;
  readonly #operations: number;
  readonly #threads: number;
  readonly #batch: number;
  /** The statements of operations, made at their first use, in the warm-up: making them is not measured. */
  readonly #steps: (readonly SqlStep[])[] = [];
  readonly #texts = new Map<string, string>();
  #users: readonly User[] | undefined;

  constructor({ cell }: PlannedRequests) {
    const workload = SQL_MATRIX.workloads[cell.workload];
    if (workload === undefined) {
      throw invalidArgument(`the family sql has no workload ${cell.workload}`);
    }
    this.workload = workload;
    this.writes = workload.direction === 'in';
    this.startsEmpty = this.#uses('user');
    this.isRows = workload.steps[0]?.kind === 'rows';
    const entry = workload.table === undefined ? undefined : SQL_MATRIX.tables[workload.table];
    // Every operation needs a slice, every thread rows of its own.
    const least = Math.max(this.#uses('slice') ? cell.rows : 0, 2 * cell.threads, LEAST_ROWS);
    this.table = entry === undefined ? undefined : { ...entry, rows: Math.max(entry.rows, least) };
    this.#rows = this.table?.rows ?? 0;
    this.#operations = cell.rows;
    this.#threads = cell.threads;
    this.#batch = cell.batch;
  }

  /** The number of rows of the table in this cell; 0 without a table. */
  get rows(): number {
    return this.#rows;
  }

  /** The users to insert, made once. */
  get users(): readonly User[] {
    this.#users ??= Array.from({ length: this.startsEmpty ? this.#operations : 0 }, (_, index) => userOf(index + 1));
    return this.#users;
  }

  /** The rows of the table before a sample. */
  contents(): readonly (readonly ParameterInput[])[] {
    if (this.table === undefined || this.startsEmpty) return [];
    const rowOf = this.workload.table === 'users' ? userOf : (id: number) => sbtestOf(id, this.#rows);
    return Array.from({ length: this.#rows }, (_, index) => rowOf(index + 1));
  }

  /** The statements of an operation on the table with this name, as SQL. */
  steps(operation: number, table: string): readonly SqlStep[] {
    return (this.#steps[operation] ??= this.#makeSteps(operation, table));
  }

  #makeSteps(operation: number, table: string): readonly SqlStep[] {
    const { workload } = this;
    const steps: SqlStep[] = workload.transaction === 'operation' ? [BEGIN] : [];
    for (const step of workload.steps) {
      const { times = 1 } = step;
      for (let time = 0; time < times; time += 1)
        steps.push(this.#step(step, operation, operation * times + time, table));
    }
    if (workload.transaction === 'operation') steps.push(COMMIT);
    return steps;
  }

  #step(step: Step, operation: number, number: number, table: string): SqlStep {
    const { kind = 'prepared', sql: template = '' } = step;
    const sql = this.#named(template, table);
    const parameters = this.#parameters(step.parameters, { operation, number, thread: this.threadOf(operation) });
    const reading = readingOf(template, this.writes);
    if (kind === 'literal') {
      let next = 0;
      return {
        sql: sql.replace(/\?/g, () => String(parameters[next++])),
        parameters: undefined,
        reading,
        isPing: false,
      };
    }
    return { sql, parameters: kind === 'prepared' ? parameters : undefined, reading, isPing: kind === 'ping' };
  }

  /** The statement with the table's name in it: one string, which clients recognise quickly. */
  #named(template: string, table: string): string {
    let sql = this.#texts.get(template);
    if (sql === undefined) {
      sql = template.replaceAll('{table}', table);
      this.#texts.set(template, sql);
    }
    return sql;
  }

  /** The thread that does an operation. */
  threadOf(operation: number): number {
    return Math.floor(operation / this.#batch) % this.#threads;
  }

  #parameters(kind: ParameterKind | undefined, turn: Turn): readonly ParameterInput[] {
    const rows = this.#rows;
    switch (kind) {
      case undefined:
        return [];
      case 'user':
        return this.users[turn.operation]!;
      case 'key':
        return [keyOf(turn.number, rows)];
      case 'tenth': {
        const tenth = Math.floor(rows / 10);
        const first = keyOf(turn.number, rows - tenth);
        return [first, first + tenth];
      }
      case 'slice': {
        const share = Math.floor(rows / this.#operations);
        return [turn.operation * share, (turn.operation + 1) * share];
      }
      case 'hundred': {
        const first = keyOf(turn.number, rows - RANGE_ROWS + 1);
        return [first, first + RANGE_ROWS - 1];
      }
      case 'countedKey':
        return [this.#ownKey(turn, 0)];
      case 'newText': {
        const id = this.#ownKey(turn, 1);
        return [textOf(id, 1), id];
      }
      case 'renewedKey':
        return [this.#renewed(turn)];
      case 'renewedRow':
        return sbtestOf(this.#renewed(turn), rows);
    }
  }

  /** The number of rows in each half of the table that belong to one thread. */
  get #share(): number {
    return Math.floor(this.#rows / (2 * this.#threads));
  }

  #ownKey({ operation, thread }: Turn, offset: number): number {
    return (keyOf(operation + offset, this.#share) - 1) * this.#threads + thread + 1;
  }

  #renewed(turn: Turn): number {
    return this.#share * this.#threads + this.#ownKey(turn, 0);
  }

  /** The sums that a sample must have: of the values it reads or, for writes, of the table's contents afterwards. */
  expected(): SqlSums {
    const sums = new SqlSums();
    for (const step of this.workload.steps) {
      const { times = 1 } = step;
      for (let operation = 0; operation < this.#operations; operation += 1) {
        for (let time = 0; time < times; time += 1) this.#expect(step, operation * times + time, sums);
      }
    }
    return this.writes ? this.#expectContents(sums.affected) : sums;
  }

  #expect({ parameters, sql = '' }: Step, number: number, sums: SqlSums): void {
    const rows = this.#rows;
    const isUpdate = sql.startsWith('UPDATE') || sql.startsWith('DELETE');
    switch (parameters) {
      case undefined:
        if (isUpdate) {
          sums.affected += Math.floor(rows / 2);
          return;
        }
        sums.rows += 1;
        if (sql === 'SELECT 1') sums.ints += 1;
        if (sql.startsWith('SELECT COUNT(*)')) sums.ints += rows;
        return;
      case 'key': {
        const id = keyOf(number, rows);
        if (this.workload.table === 'users') {
          sums.addUser(userOf(id));
        } else {
          sums.rows += 1;
          sums.texts += TEXT_LENGTH;
        }
        return;
      }
      case 'tenth': {
        const tenth = Math.floor(rows / 10);
        if (isUpdate) {
          sums.affected += tenth;
          return;
        }
        const first = keyOf(number, rows - tenth);
        for (let id = first; id < first + tenth; id += 1) sums.addUser(userOf(id));
        return;
      }
      case 'slice':
        sums.affected += Math.floor(rows / this.#operations);
        return;
      case 'hundred': {
        if (!sql.includes('SUM(k)')) {
          sums.rows += RANGE_ROWS;
          sums.texts += RANGE_ROWS * TEXT_LENGTH;
          return;
        }
        const first = keyOf(number, rows - RANGE_ROWS + 1);
        sums.rows += 1;
        for (let id = first; id < first + RANGE_ROWS; id += 1) sums.ints += kOf(id, rows);
        return;
      }
      default:
        sums.affected += 1;
    }
  }

  /** The sums of the table's contents after a sample. */
  #expectContents(affected: number): SqlSums {
    const sums = new SqlSums();
    sums.affected = affected;
    const rows = this.#rows;
    if (this.workload.table === 'users') {
      // An update adds one to each row that it finds.
      if (!this.startsEmpty && !this.#uses('slice')) sums.doubles = affected;
      for (const user of this.#usersAfter()) sums.addUser(user);
      return sums;
    }
    for (let id = 1; id <= rows; id += 1) {
      const [, k, c, pad] = sbtestOf(id, rows);
      sums.rows += 1;
      sums.ints += id + k + id * 97;
      sums.texts += c.length + pad.length;
    }
    const changed = new Set(this.#turns().map((turn) => this.#ownKey(turn, 1)));
    sums.ints += this.#operations + changed.size;
    return sums;
  }

  /** One turn of each operation. */
  #turns(): readonly Turn[] {
    return Array.from({ length: this.#operations }, (_, operation) => ({
      operation,
      number: operation,
      thread: this.threadOf(operation),
    }));
  }

  /** The users that a sample leaves in the table, without the changes of updates. */
  #usersAfter(): readonly User[] {
    if (this.startsEmpty) return this.users;
    const share = Math.floor(this.#rows / this.#operations);
    const deleted = this.#uses('slice') ? share * this.#operations : 0;
    return Array.from({ length: this.#rows - deleted }, (_, index) => userOf(deleted + index + 1));
  }

  /** The rows that a sample leaves in the table: their values in the order of its columns. */
  rowsAfter(): readonly (readonly ParameterInput[])[] {
    if (this.workload.table !== 'users') {
      const rows = Array.from({ length: this.#rows }, (_, index) => sbtestOf(index + 1, this.#rows));
      for (const turn of this.#turns()) {
        const [counted, changed] = [this.#ownKey(turn, 0), this.#ownKey(turn, 1)];
        const [id, k, c, pad] = rows[counted - 1]!;
        rows[counted - 1] = [id, k + 1, c, pad];
        rows[changed - 1] = [changed, rows[changed - 1]![1], textOf(changed, 1), rows[changed - 1]![3]];
      }
      return rows;
    }
    const users = this.#usersAfter();
    if (this.startsEmpty || this.#uses('slice')) return users;
    const scores = users.map(([, , , , score]) => score);
    for (const turn of this.#turns()) {
      const [first, end] = this.#uses('tenth') ? (this.#parameters('tenth', turn) as readonly number[]) : [];
      for (const [index, [id, , , active]] of users.entries()) {
        if (first === undefined ? active : id >= first && id < end!) scores[index]! += 1;
      }
    }
    return users.map(([id, name, age, active, , email], index) => [id, name, age, active, scores[index]!, email]);
  }

  #uses(kind: ParameterKind): boolean {
    return this.workload.steps.some(({ parameters }) => parameters === kind);
  }

  /** The query for the sums of the table's contents: rows, numbers, doubles, bytes of texts. */
  contentsQuery(table: string): string {
    return this.workload.table === 'users'
      ? `SELECT COUNT(*) AS n, COALESCE(SUM(id), 0) + COALESCE(SUM(age), 0) + COALESCE(SUM(active), 0) AS ints,
          COALESCE(SUM(score), 0) AS doubles, COALESCE(SUM(LENGTH(name)), 0) + COALESCE(SUM(LENGTH(email)), 0) AS texts
          FROM ${table}`
      : `SELECT COUNT(*) AS n, SUM(id) + SUM(k) + SUM(CAST(LEFT(c, 11) AS SIGNED)) AS ints, 0.0 AS doubles,
          SUM(LENGTH(c)) + SUM(LENGTH(pad)) AS texts FROM ${table}`;
  }
}

function readingOf(sql: string, writes: boolean): Reading {
  if (sql.startsWith('SELECT id, name')) return 'users';
  if (sql.startsWith('SELECT c ') || sql.startsWith('SELECT DISTINCT c ')) return 'texts';
  if (sql.startsWith('SELECT ')) return 'number';
  return writes ? 'affected' : 'answer';
}
