/**
 * `node-sql-parser`: a parser that PEG.js made of a grammar for each dialect. Redshift's is the fastest one of those that take all
 * statements of the matrix: MySQL's knows neither BOOLEAN nor NULLS LAST. Its own build is loaded, since the package as
 * a whole loads the parsers of all dialects.
 */
import { type ReadSql, type TakeStatement, readSqlBy } from './js-sql-parser.js';
import { loadPackage } from './optional-package.js';

export const NODE_SQL_PARSER = 'node-sql-parser';

interface NodeSqlParser {
  astify(sql: string, options: Options): Ast | readonly Ast[];
}

interface Options {
  readonly database: string;
}

interface Named {
  readonly table: string;
}

/** The part of the syntax tree that is read. */
type Ast =
  | { readonly type: 'select'; readonly from: readonly Named[]; readonly columns: readonly unknown[] }
  | { readonly type: 'create'; readonly table: readonly Named[]; readonly create_definitions: readonly Definition[] }
  | { readonly type: 'insert'; readonly table: readonly Named[]; readonly columns: readonly unknown[] }
  | { readonly type: 'update'; readonly table: readonly Named[]; readonly set: readonly unknown[] }
  | { readonly type: 'delete'; readonly from: readonly Named[] };

interface Definition {
  readonly resource: 'column' | 'constraint';
}

export function nodeSqlParser(): ReadSql {
  const { Parser } = loadPackage<{ Parser: new () => NodeSqlParser }>(`${NODE_SQL_PARSER}/build/redshift.js`);
  const parser = new Parser();
  const options: Options = { database: 'Redshift' };
  return readSqlBy((sql) => [parser.astify(sql, options)].flat() as readonly Ast[], takeAst);
}

function takeAst(ast: Ast, take: TakeStatement): number {
  switch (ast.type) {
    case 'select':
      return take('select', ast.from[0]!.table, ast.columns.length);
    case 'create': {
      let columns = 0;
      for (const { resource } of ast.create_definitions) if (resource === 'column') columns += 1;
      return take('create', ast.table[0]!.table, columns);
    }
    case 'insert':
      return take('insert', ast.table[0]!.table, ast.columns.length);
    case 'update':
      return take('update', ast.table[0]!.table, ast.set.length);
    case 'delete':
      return take('delete', ast.from[0]!.table, 0);
    default:
      return Number.NaN;
  }
}
