/** The form in which SQL parsers are compared. */

/** The kinds of statements that are told apart. */
export const STATEMENT_KINDS = ['select', 'create', 'insert', 'update', 'delete'] as const;

export type StatementKind = (typeof STATEMENT_KINDS)[number];

/** Takes what is read of a statement: the kind, the name of the first table, and the number of items, columns or assignments. */
export type TakeStatement = (kind: StatementKind, table: string, parts: number) => number;

/** Parses a text of one statement or several, gives each to `take`, and returns the sum of what that returns. */
export type ReadSql = (sql: string, take: TakeStatement) => number;

/** Reads SQL by a parser, of whose trees `takeTree` finds what is read. */
export function readSqlBy<Tree>(
  parse: (sql: string) => readonly Tree[],
  takeTree: (tree: Tree, take: TakeStatement) => number,
): ReadSql {
  return (sql, take) => {
    let sum = 0;
    for (const tree of parse(sql)) sum += takeTree(tree, take);
    return sum;
  };
}
