/**
 * The statements that are parsed, and what is read of the tree of each. `native/suite/src/codec/parser.rs` has the same in Rust.
 */
import { STATEMENT_KINDS, type TakeStatement } from '../../clients/js-sql-parser.js';
import { TURNS, eachTurn, sumOfTurns } from '../in-process.js';
import { CODEC_MATRIX, type ParsedStatement } from './matrix.js';

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
