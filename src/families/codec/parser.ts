/**
 * SQL parsed to a tree. Each parser reads the same of each statement: the kind, the name of the first table as a string, and the
 * number of items, columns or assignments. `statements.ts` makes a number of them. On the lane `valid` there is no tree to read. In
 * `parse.walk` each node of our own tree is visited, and the text of each that has one is read as a string.
 */
import { crossing } from '../../crossing-addon.js';
import type { ReadSql, TakeStatement } from '../../clients/js-sql-parser.js';
import { NODE_SQL_PARSER, nodeSqlParser } from '../../clients/node-sql-parser.js';
import { PGSQL_AST_PARSER, pgsqlAstParser } from '../../clients/pgsql-ast-parser.js';
import { checksumMismatch } from '../../errors.js';
import { type Loop, TURNS } from '../in-process.js';
import { KIND, SqlTree } from './sql-tree.js';
import { resultOfParsing, resultOfStatement, statementsOf, textOf } from './statements.js';
import type { CodecCell, Topic } from './topic.js';

/** Executes the operations of a text, and returns the sum of their results. */
type Work = (sql: string) => number;

type SqlNode = ReturnType<typeof crossing.codec.sqlObjects>;

export const parserTopic: Topic = {
  resultOf: ({ workload, lane, batch }, operations) => resultOfParsing(workload, lane, batch, operations),
  open: (cell) => loopOf(cell, workOf(cell)),
  verify(cell) {
    if (cell.lane === 'valid' || cell.workload === 'parse.walk') verifyWork(cell, workOf(cell));
    else verifyReader(cell, readerOf(cell));
  },
};

/**
 * Executes the work on the texts in turn. If the operations are no whole batches, as for a look at the heap, the last text has only
 * the statements that are left. It is made once.
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
  if (cell.workload === 'parse.walk') return walkerOf(cell);
  const read = readerOf(cell);
  return (sql) => read(sql, resultOfStatement);
}

function readerOf({ lane, client }: CodecCell): ReadSql {
  if (client === NODE_SQL_PARSER) return nodeSqlParser();
  if (client === PGSQL_AST_PARSER) return pgsqlAstParser();
  return lane === 'frame' ? frameReader() : nestedReader(nestedParser(lane));
}

/** The parser whose trees are objects. */
function nestedParser(lane: string): (sql: string) => SqlNode {
  const { sqlJson, sqlObjects } = crossing.codec;
  return lane === 'json' ? (sql) => JSON.parse(sqlJson(sql)) as SqlNode : sqlObjects;
}

function nestedReader(parse: (sql: string) => SqlNode): ReadSql {
  return (sql, take) => {
    let sum = 0;
    for (const statement of parse(sql).children) sum += takeNested(statement, take);
    return sum;
  };
}

function takeNested({ kind, children }: SqlNode, take: TakeStatement): number {
  switch (kind) {
    case KIND.Select:
      return take('select', children[1]!.children[0]!.children[0]!.text!, children[0]!.children.length);
    case KIND.CreateTable: {
      let columns = 0;
      for (const child of children[1]!.children) if (child.kind === KIND.Column) columns += 1;
      return take('create', children[0]!.text!, columns);
    }
    case KIND.Insert:
      return take('insert', children[0]!.text!, children[1]!.children.length);
    case KIND.Update:
      return take('update', children[0]!.text!, children[1]!.children.length);
    case KIND.Delete:
      return take('delete', children[0]!.text!, 0);
    default:
      return Number.NaN;
  }
}

function frameReader(): ReadSql {
  const tree = new SqlTree();
  return (sql, take) => {
    tree.parse(sql);
    const { root } = tree;
    let sum = 0;
    for (let statement = tree.lastChild(root); statement >= 0; statement = tree.previous(statement, root)) {
      sum += takeFlat(tree, statement, take);
    }
    return sum;
  };
}

function takeFlat(tree: SqlTree, statement: number, take: TakeStatement): number {
  const first = tree.child(statement, 0);
  switch (tree.kind(statement)) {
    case KIND.Select: {
      const table = tree.child(tree.child(statement, 1), 0);
      return take('select', tree.text(tree.child(table, 0)), tree.childCount(first));
    }
    case KIND.CreateTable: {
      const list = tree.child(statement, 1);
      let columns = 0;
      for (let child = tree.lastChild(list); child >= 0; child = tree.previous(child, list)) {
        if (tree.kind(child) === KIND.Column) columns += 1;
      }
      return take('create', tree.text(first), columns);
    }
    case KIND.Insert:
      return take('insert', tree.text(first), tree.childCount(tree.child(statement, 1)));
    case KIND.Update:
      return take('update', tree.text(first), tree.childCount(tree.child(statement, 1)));
    case KIND.Delete:
      return take('delete', tree.text(first), 0);
    default:
      return Number.NaN;
  }
}

/** Visits each node, and returns the number of nodes plus the number of characters of their texts. */
function walkerOf({ lane }: CodecCell): Work {
  if (lane !== 'frame') {
    const parse = nestedParser(lane);
    return (sql) => walkNested(parse(sql));
  }
  const tree = new SqlTree();
  return (sql) => {
    tree.parse(sql);
    const { length } = tree;
    let sum = length;
    for (let node = 0; node < length; node += 1) if (tree.hasText(node)) sum += tree.text(node).length;
    return sum;
  };
}

function walkNested({ text, children }: SqlNode): number {
  let sum = 1;
  if (text !== undefined) sum += text.length;
  for (const child of children) sum += walkNested(child);
  return sum;
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

/** Throws for the first text with a wrong result, and if a text is taken that is no SQL. */
export function verifyWork({ workload, lane, batch }: CodecCell, work: Work): void {
  const expected = resultOfParsing(workload, lane, batch, 1);
  for (const text of statementsOf(workload, batch).map(textOf)) {
    const found = work(text);
    if (found !== expected) throw checksumMismatch(`${workload}: expected ${expected}, got ${found}, of "${text}"`);
    if (lane === 'valid' && work(`${text} (`) !== 0) throw checksumMismatch(`${workload}: "${text} (" is taken as SQL`);
  }
}
