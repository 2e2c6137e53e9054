/** `pgsql-ast-parser`: a parser of PostgreSQL's dialect by nearley, which keeps the places of no nodes unless it is told to. */
import { type ReadSql, type TakeStatement, readSqlBy } from './js-sql-parser.js';
import { loadPackage } from './optional-package.js';

export const PGSQL_AST_PARSER = 'pgsql-ast-parser';

interface Named {
  readonly name: string;
}

/** The part of the syntax tree that is read. */
type Ast =
  | {
      readonly type: 'select';
      readonly from: readonly { readonly name: Named }[];
      readonly columns: readonly unknown[];
    }
  | { readonly type: 'create table'; readonly name: Named; readonly columns: readonly { readonly kind: string }[] }
  | { readonly type: 'insert'; readonly into: Named; readonly columns: readonly unknown[] }
  | { readonly type: 'update'; readonly table: Named; readonly sets: readonly unknown[] }
  | { readonly type: 'delete'; readonly from: Named };

export function pgsqlAstParser(): ReadSql {
  const { parse } = loadPackage<{ parse: (sql: string) => readonly Ast[] }>(PGSQL_AST_PARSER);
  return readSqlBy((sql) => parse(sql), takeAst);
}

function takeAst(ast: Ast, take: TakeStatement): number {
  switch (ast.type) {
    case 'select':
      return take('select', ast.from[0]!.name.name, ast.columns.length);
    case 'create table': {
      let columns = 0;
      for (const { kind } of ast.columns) if (kind === 'column') columns += 1;
      return take('create', ast.name.name, columns);
    }
    case 'insert':
      return take('insert', ast.into.name, ast.columns.length);
    case 'update':
      return take('update', ast.table.name, ast.sets.length);
    case 'delete':
      return take('delete', ast.from.name, 0);
    default:
      return Number.NaN;
  }
}
