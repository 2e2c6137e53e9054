/** SQL parsers in JavaScript, with which the addon's is compared. */

/** The kinds of statements that are told apart. */
export const STATEMENT_KINDS = ['select', 'create', 'insert', 'update', 'delete'] as const;

export type StatementKind = (typeof STATEMENT_KINDS)[number];

/** Takes what is read of a statement: the kind, the name of the first table, and the number of items, columns or assignments. */
export type TakeStatement = (kind: StatementKind, table: string, parts: number) => number;

/** Parses a text of one statement or several, gives each to `take`, and returns the sum of what that returns. */
export type ReadSql = (sql: string, take: TakeStatement) => number;
