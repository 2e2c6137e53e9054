/** The work of a cell: the statements of its workload, their parameters, and the expected sums. */
import { itemsOf } from '../../records/record.js';
import { invalidArgument } from '../../errors.js';
import type { ParameterInput } from '../../library/engine/parameters.js';
import type { PlannedRequests } from '../requests/grid.js';
import { keyOf, kOf, type Sbtest, sbtestOf, SqlSums, TEXT_LENGTH, textOf, type User, userOf } from './data.js';
import {
  type AnswerKind,
  type ParameterKind,
  SQL_MATRIX,
  type SqlWorkload,
  type Step,
  type TableEntry,
} from './matrix.js';

const { rangeRows: RANGE_ROWS } = SQL_MATRIX;

/** The fewest rows of a table. */
const LEAST_ROWS = 10 * RANGE_ROWS;

/** The rows that a statement is about: `count` of them, from the id `first` on, each id `every` above the previous id. */
export interface Ids {
  readonly first: number;
  readonly count: number;
  readonly every: number;
}

/** The answer of a statement. `control`: it begins or ends a transaction. */
export type StepAnswer = AnswerKind | 'control';

/** A request for a statement, or for a ping. */
export interface SqlStep {
  readonly sql: string;
  /** The parameters; undefined if the statement is sent as text. */
  readonly parameters: readonly ParameterInput[] | undefined;
  readonly answers: StepAnswer;
  readonly ids: Ids;
  readonly isPing: boolean;
}

const NO_IDS: Ids = { first: 1, count: 0, every: 1 };

function control(sql: string): SqlStep {
  return { sql, parameters: undefined, answers: 'control', ids: NO_IDS, isPing: false };
}

export const BEGIN = control('BEGIN');
export const COMMIT = control('COMMIT');
export const ROLLBACK = control('ROLLBACK');

/** The ids themselves. */
export function idsOf({ first, count, every }: Ids): number[] {
  return Array.from({ length: count }, (_, index) => first + index * every);
}

/** A row of either table. */
export type TableRow = User | Sbtest;

/** One execution of a step. */
interface Turn {
  readonly operation: number;
  /** The number of the execution, over all operations. */
  readonly number: number;
  readonly connection: number;
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
  readonly #connections: number;
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
    // Every operation needs a slice, every connection rows of its own.
    const least = Math.max(this.#uses('slice') ? itemsOf(cell) : 0, 2 * cell.connections, LEAST_ROWS);
    this.table = entry === undefined ? undefined : { ...entry, rows: Math.max(entry.rows, least) };
    this.#rows = this.table?.rows ?? 0;
    this.#operations = itemsOf(cell);
    this.#connections = cell.connections;
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
  contents(): readonly TableRow[] {
    if (this.table === undefined || this.startsEmpty) return [];
    const rowOf: (id: number) => TableRow = this.workload.table === 'users' ? userOf : (id) => sbtestOf(id, this.#rows);
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
    const turn = { operation, number, connection: this.connectionOf(operation) };
    const parameters = this.#parameters(step.parameters, turn);
    const { answers } = step;
    const shared = { answers, ids: this.#idsOf(step.parameters, turn), isPing: kind === 'ping' };
    if (kind !== 'literal') return { sql, parameters: kind === 'prepared' ? parameters : undefined, ...shared };
    let next = 0;
    return { sql: sql.replace(/\?/g, () => String(parameters[next++])), parameters: undefined, ...shared };
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

  /** The connection that does an operation. */
  connectionOf(operation: number): number {
    return Math.floor(operation / this.#batch) % this.#connections;
  }

  #parameters(kind: ParameterKind, turn: Turn): readonly ParameterInput[] {
    const { first, count } = this.#idsOf(kind, turn);
    switch (kind) {
      case 'none':
      case 'active':
        return [];
      case 'user':
        return this.users[turn.operation]!;
      case 'key':
      case 'countedKey':
      case 'renewedKey':
        return [first];
      case 'tenth':
        return [first, first + count];
      case 'slice':
        return [first - 1, first + count - 1];
      case 'hundred':
        return [first, first + count - 1];
      case 'newText':
        return [textOf(first, 1), first];
      case 'renewedRow':
        return sbtestOf(first, this.#rows);
    }
  }

  /** The rows that one execution of a step is about. */
  #idsOf(kind: ParameterKind, turn: Turn): Ids {
    const rows = this.#rows;
    const from = (first: number, count = 1): Ids => ({ first, count, every: 1 });
    switch (kind) {
      case 'none':
        return from(1, rows);
      case 'active':
        return { first: 2, count: Math.floor(rows / 2), every: 2 };
      case 'user':
        return from(turn.operation + 1);
      case 'key':
        return from(keyOf(turn.number, rows));
      case 'tenth': {
        const tenth = Math.floor(rows / 10);
        return from(keyOf(turn.number, rows - tenth), tenth);
      }
      case 'slice': {
        const share = Math.floor(rows / this.#operations);
        return from(turn.operation * share + 1, share);
      }
      case 'hundred':
        return from(keyOf(turn.number, rows - RANGE_ROWS + 1), RANGE_ROWS);
      case 'countedKey':
        return from(this.#ownKey(turn, 0));
      case 'newText':
        return from(this.#ownKey(turn, 1));
      case 'renewedKey':
      case 'renewedRow':
        return from(this.#renewed(turn));
    }
  }

  /** The number of rows in each half of the table that belong to one connection. */
  get #share(): number {
    return Math.floor(this.#rows / (2 * this.#connections));
  }

  #ownKey({ operation, connection }: Turn, offset: number): number {
    return (keyOf(operation + offset, this.#share) - 1) * this.#connections + connection + 1;
  }

  #renewed(turn: Turn): number {
    return this.#share * this.#connections + this.#ownKey(turn, 0);
  }

  /** The sums that a sample must have: of the values it reads or, for writes, of the table's contents afterwards. */
  expected(): SqlSums {
    const sums = new SqlSums();
    for (const step of this.workload.steps) {
      const { times = 1 } = step;
      for (const turn of this.#turns(times)) this.#expect(step, turn, sums);
    }
    return this.writes ? this.sumsOf(this.rowsAfter(), sums.affected) : sums;
  }

  /** The sums of rows of the table. */
  sumsOf(rows: readonly TableRow[], affected = 0): SqlSums {
    const sums = new SqlSums();
    sums.affected = affected;
    for (const row of rows) {
      if (this.workload.table === 'users') sums.addUser(row as User);
      else sums.addSbtest(row as Sbtest);
    }
    return sums;
  }

  #expect({ parameters, answers }: Step, turn: Turn, sums: SqlSums): void {
    const ids = this.#idsOf(parameters, turn);
    switch (answers) {
      case 'users':
        for (const id of idsOf(ids)) sums.addUser(userOf(id));
        return;
      case 'texts':
        sums.rows += ids.count;
        sums.texts += ids.count * TEXT_LENGTH;
        return;
      case 'affected':
        sums.affected += ids.count;
        return;
      case 'nothing':
        // A statement without a result counts as one row.
        sums.rows += 1;
        return;
      default:
        sums.rows += 1;
        sums.ints += this.numberOf(answers, ids);
    }
  }

  /** The number that a statement answers which answers one. */
  numberOf(answers: StepAnswer, ids: Ids): number {
    if (answers === 'one') return 1;
    return answers === 'count' ? ids.count : idsOf(ids).reduce((sum, id) => sum + kOf(id, this.#rows), 0);
  }

  /** The turns of all operations: `times` of each. */
  #turns(times = 1): readonly Turn[] {
    return Array.from({ length: this.#operations * times }, (_, number) => {
      const operation = Math.floor(number / times);
      return { operation, number, connection: this.connectionOf(operation) };
    });
  }

  /** The users that a sample leaves in the table, without the changes of updates. */
  #usersAfter(): readonly User[] {
    if (this.startsEmpty) return this.users;
    const share = Math.floor(this.#rows / this.#operations);
    const deleted = this.#uses('slice') ? share * this.#operations : 0;
    return Array.from({ length: this.#rows - deleted }, (_, index) => userOf(deleted + index + 1));
  }

  /** The rows that a sample leaves in the table. */
  rowsAfter(): readonly TableRow[] {
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
    const [{ parameters }] = this.workload.steps as readonly [Step];
    for (const turn of this.#turns()) {
      const { first, count, every } = this.#idsOf(parameters, turn);
      for (let id = first; id < first + count * every; id += every) scores[id - 1]! += 1;
    }
    return users.map(([id, name, age, active, , email], index) => [id, name, age, active, scores[index]!, email]);
  }

  #uses(kind: ParameterKind): boolean {
    return this.workload.steps.some(({ parameters }) => parameters === kind);
  }
}
