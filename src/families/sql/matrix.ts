import { familyMatrix } from '../matrix.js';
import type { RequestMatrix, RequestWorkload } from '../requests/grid.js';

export type TableName = 'users' | 'sbtest';

export interface TableEntry {
  readonly rows: number;
  readonly columns: readonly string[];
  readonly definition: string;
  /** The columns of its further indexes, by their names: a statement each, since not every server takes them in `CREATE TABLE`. */
  readonly indexes?: Readonly<Record<string, string>>;
}

/** The source of a step's parameters, and with it the rows that the step is about. `schema/matrix.schema.json` describes each kind. */
export type ParameterKind =
  | 'none'
  | 'active'
  | 'user'
  | 'key'
  | 'tenth'
  | 'slice'
  | 'hundred'
  | 'countedKey'
  | 'newText'
  | 'renewedKey'
  | 'renewedRow';

/** The answer of the server about these rows. */
export type AnswerKind = 'nothing' | 'one' | 'count' | 'sumOfK' | 'users' | 'texts' | 'affected';

/** A statement of an operation. */
export interface Step {
  /** The kind of a step, see `native/suite/src/sql/plan.rs`. Default: `prepared`. */
  readonly kind?: 'prepared' | 'text' | 'literal' | 'ping' | 'rows';
  readonly sql?: string;
  readonly parameters: ParameterKind;
  readonly answers: AnswerKind;
  readonly times?: number;
}

export interface SqlWorkload extends RequestWorkload {
  readonly table?: TableName;
  readonly transaction?: 'sample' | 'operation';
  readonly steps: readonly Step[];
}

/** The family in `bench/matrix.json`. */
interface SqlMatrix extends RequestMatrix<SqlWorkload> {
  /** The database of the tables, if the server's URL names none. */
  readonly database: string;
  /** Spreads consecutive numbers over a table: a prime, so that every row has its turn. */
  readonly stride: number;
  /** The rows of a range in sysbench's statements. */
  readonly rangeRows: number;
  readonly tables: Readonly<Record<TableName, TableEntry>>;
}

export const SQL_MATRIX = familyMatrix<SqlMatrix>('sql');
