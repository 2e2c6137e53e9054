/**
 * SQL parsed to a tree. Each parser reads the same of each statement: the kind, the name of the first table as a string, and the
 * number of items, columns or assignments. `resultOfStatement` makes a number of them. On the lane `valid` there is no tree to read.
 */
import { crossing } from '../../crossing-addon.js';
import { type ReadSql, type TakeStatement, readSqlBy, STATEMENT_KINDS } from '../../clients/js-sql-parser.js';
import { NODE_SQL_PARSER, nodeSqlParser } from '../../clients/node-sql-parser.js';
import { PGSQL_AST_PARSER, pgsqlAstParser } from '../../clients/pgsql-ast-parser.js';
import { checksumMismatch } from '../../errors.js';
import { type Loop, TURNS, eachTurn, sumOfTurns } from '../in-process.js';
import { type CodecCell, type Topic, CODEC_MATRIX, type ParsedStatement } from './topic.js';

/** Executes the operations of a text, and returns the sum of their results. */
type Work = (sql: string) => number;

/** The part of the trees of `sqlparser` that is read. Serde puts each variant's fields into an object under the variant's name. */
type Statement =
  | { readonly Query: { readonly body: { readonly Select: Select } } }
  | { readonly CreateTable: { readonly name: ObjectName; readonly columns: readonly unknown[] } }
  | { readonly Insert: { readonly table: { readonly TableName: ObjectName }; readonly columns: readonly unknown[] } }
  | { readonly Update: { readonly table: TableWithJoins; readonly assignments: readonly unknown[] } }
  | { readonly Delete: { readonly from: { readonly WithFromKeyword: readonly TableWithJoins[] } } };

interface Select {
  readonly from: readonly TableWithJoins[];
  readonly projection: readonly unknown[];
}

interface TableWithJoins {
  readonly relation: { readonly Table: { readonly name: ObjectName } };
}

type ObjectName = readonly { readonly Identifier: { readonly value: string } }[];

export const parserTopic: Topic = {
  resultOf: ({ workload, lane, batch }, operations) => resultOfParsing(workload, lane, batch, operations),
  open: (cell) => loopOf(cell, workOf(cell)),
  verify(cell) {
    if (cell.lane === 'valid') verifyValid(cell, workOf(cell));
    else verifyReader(cell, readerOf(cell));
  },
};

/**
 * Executes the work on the texts in turn. If the operations are no whole batches, as for a look at the heap, the last
 * text has only the statements that are left. It is made once.
 */
export function loopOf({ workload, batch }: CodecCell, work: Work): Loop {
  const statements = statementsOf(workload, batch);
  const texts = statements.map(textOf);
  const begun = new Map<number, string>();
  return (operations) => {
    const whole = Math.floor(operations / batch);
    let sum = 0;
    for (let call = 0; call < whole; call += 1) sum += work(texts[call & (TURNS - 1)]!);
    if (whole * batch === operations) return sum;
    let text = begun.get(operations);
    if (text === undefined) {
      text = textOf(statements[whole & (TURNS - 1)]!.slice(0, operations - whole * batch));
      begun.set(operations, text);
    }
    return sum + work(text);
  };
}

function workOf(cell: CodecCell): Work {
  if (cell.lane === 'valid') return (sql) => (crossing.codec.sqlIsValid(sql) ? 1 : 0);
  const read = readerOf(cell);
  return (sql) => read(sql, resultOfStatement);
}

function readerOf({ lane, client }: CodecCell): ReadSql {
  if (client === NODE_SQL_PARSER) return nodeSqlParser();
  if (client === PGSQL_AST_PARSER) return pgsqlAstParser();
  const { sqlJson, sqlObjects } = crossing.codec;
  const parse = lane === 'json' ? (sql: string): unknown => JSON.parse(sqlJson(sql)) : sqlObjects;
  return readSqlBy((sql) => parse(sql) as readonly Statement[], takeStatement);
}

function takeStatement(statement: Statement, take: TakeStatement): number {
  if ('Query' in statement) {
    const { from, projection } = statement.Query.body.Select;
    return take('select', firstOf(from), projection.length);
  }
  if ('CreateTable' in statement) {
    const { name, columns } = statement.CreateTable;
    return take('create', nameOf(name), columns.length);
  }
  if ('Insert' in statement) {
    const { table, columns } = statement.Insert;
    return take('insert', nameOf(table.TableName), columns.length);
  }
  if ('Update' in statement) {
    const { table, assignments } = statement.Update;
    return take('update', firstOf([table]), assignments.length);
  }
  return take('delete', firstOf(statement.Delete.from.WithFromKeyword), 0);
}

function firstOf([first]: readonly TableWithJoins[]): string {
  return nameOf(first!.relation.Table.name);
}

function nameOf(name: ObjectName): string {
  return name[name.length - 1]!.Identifier.value;
}

/** Throws for the first text of which a statement is not read as it must be. The statements of a text may come in any order. */
export function verifyReader({ workload, batch }: CodecCell, read: ReadSql): void {
  const texts = statementsOf(workload, batch);
  // A text of many statements has all of them, and a parser in JavaScript takes seconds for each text.
  for (const statements of batch === 1 ? texts : texts.slice(0, 1)) {
    const expected = statements.map(({ kind, table, parts }) => `${kind} ${table} ${parts}`).toSorted();
    const found: string[] = [];
    read(textOf(statements), (...statement) => found.push(statement.join(' ')));
    found.sort();
    const wrong = expected.findIndex((statement, place) => statement !== found[place]);
    if (wrong >= 0 || found.length !== expected.length) {
      const place = Math.max(wrong, 0);
      throw checksumMismatch(
        `${workload}: expected "${expected[place]}", got "${found[place]}", of ${found.length} statements`,
      );
    }
  }
}

/** Throws for the first text that is not taken as SQL, and if a text is taken that is no SQL. */
export function verifyValid({ workload, batch }: CodecCell, work: Work): void {
  for (const text of statementsOf(workload, batch).map(textOf)) {
    if (work(text) !== 1) throw checksumMismatch(`${workload}: "${text}" is not taken as SQL`);
    if (work(`${text} (`) !== 0) throw checksumMismatch(`${workload}: "${text} (" is taken as SQL`);
  }
}

const KIND_NUMBERS = Object.fromEntries(STATEMENT_KINDS.map((kind, index) => [kind, index + 1])) as Readonly<
  Record<(typeof STATEMENT_KINDS)[number], number>
>;

/** The result of a statement, in which everything is that is read of it. */
export const resultOfStatement: TakeStatement = (kind, table, parts) =>
  100 * KIND_NUMBERS[kind] + 10 * parts + table.charCodeAt(table.length - 1);

/** The statement with another table for each turn: the first one, whose name ends with another letter. */
export function statementOfTurn({ sql, table, ...rest }: ParsedStatement, turn: number): ParsedStatement {
  const last = table.length - 1;
  const other = table.slice(0, last) + String.fromCharCode(table.charCodeAt(last) + (turn % TURNS));
  return { ...rest, sql: sql.replace(table, other), table: other };
}

/** The statements in the order in which a text of many has them. */
const IN_ORDER = Object.entries(CODEC_MATRIX.statements)
  .toSorted(([one], [other]) => (one < other ? -1 : 1))
  .map(([, statement]) => statement);

/**
 * The statements of each text of a workload. The texts come in turn. A text of `parse.mixed` has `batch` statements, of
 * all kinds over and over, and other texts have one.
 */
export function statementsOf(workload: string, batch: number): readonly (readonly ParsedStatement[])[] {
  const name = workload.slice('parse.'.length);
  if (name === 'mixed') {
    const places = Array.from({ length: batch }, (_, place) => place);
    return eachTurn((turn) => places.map((place) => statementOfTurn(IN_ORDER[place % IN_ORDER.length]!, turn + place)));
  }
  return eachTurn((turn) => [statementOfTurn(CODEC_MATRIX.statements[name]!, turn)]);
}

/** A text of statements, made flat, as one that comes from elsewhere is. */
export function textOf(statements: readonly ParsedStatement[]): string {
  return Buffer.from(statements.map(({ sql }) => sql).join('; ')).toString('latin1');
}

/**
 * The sum of the results of `operations` operations. An operation is a statement. Its result is `1` if it is only asked
 * whether it is valid, and `resultOfStatement` otherwise.
 */
export function resultOfParsing(workload: string, lane: string, batch: number, operations: number): number {
  if (lane === 'valid') return operations;
  const texts = statementsOf(workload, batch);
  const whole = Math.floor(operations / batch);
  const begun = texts[whole % TURNS]!.slice(0, operations % batch);
  return sumOfTurns(texts.map(resultOfStatements), whole) + resultOfStatements(begun);
}

function resultOfStatements(statements: readonly ParsedStatement[]): number {
  return statements.reduce((sum, { kind, table, parts }) => sum + resultOfStatement(kind, table, parts), 0);
}
