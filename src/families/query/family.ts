/**
 * A query of the user's own over the user's own database, for `run --sql`: Rust alone, the addon, and other clients
 * from npm read all of its result. It is a workload as users write them, whose ways are written here.
 */
import { nativeFile, whyMissing } from '../../binaries.js';
import { whyUnusable } from '../../clients/optional-package.js';
import { BoundaryError } from '../../errors.js';
import { program } from '../own/program.js';
import { type Way, workload } from '../own/workload.js';
import type { Family, FamilyOptions } from '../workload.js';
import { SERVER_OPTIONS } from '../requests/options.js';
import { QUERY_OPTIONS, type QueryValues } from './options.js';
import {
  type Query,
  type ReadBy,
  addonColumns,
  addonCursor,
  addonObjects,
  closeAll,
  duckDbColumns,
  duckDbObjects,
  mysqlRows,
} from './readers.js';

/** The ways of the addon. */
const NAPI: Readonly<Record<string, ReadBy>> = {
  'napi, columns': addonColumns,
  'napi, cursor': addonCursor,
  'napi, objects': addonObjects,
};

/** The ways of other clients, by the engine, with their packages. */
const JS: Readonly<Record<string, Readonly<Record<string, readonly [packageName: string, read: ReadBy]>>>> = {
  embedded: {
    'js, @duckdb/node-bindings columns': ['@duckdb/node-bindings', duckDbColumns],
    'js, @duckdb/node-api objects': ['@duckdb/node-api', duckDbObjects],
  },
  mysql: {
    'js, mariadb': ['mariadb', mysqlRows('mariadb')],
    'js, mysql2': ['mysql2', mysqlRows('mysql2')],
    'js, mysql2 arrays': ['mysql2', mysqlRows('mysql2', 'arrays')],
  },
};

export const queryFamily: Family<QueryValues> = {
  name: 'query',
  module: import.meta.url,
  description: 'a query of your own (--sql), over the database that --engine-uri names: all of its result is read',
  defaultRows: 1,
  hasOperations: true,
  onlyIfNamed: true,
  options: { ...QUERY_OPTIONS, ...SERVER_OPTIONS.mysql },
  plan: (options) => {
    if (options.sql === undefined) return [];
    const [engine] = engineOf(options.engines);
    return workOf(options)
      .plan(options)
      .map((planned) => ({ ...planned, cell: { ...planned.cell, engine } }));
  },
  open: async (options, cells) => workOf(options).open(options, cells),
};

function workOf({ sql, engines }: FamilyOptions & Partial<QueryValues>): Family {
  const query: Query = { kind: 'query', uri: sharedUri(engineOf(engines)[1]), sql: sql! };
  const others = Object.entries(JS[query.uri.split(':')[0]!] ?? {}).flatMap(([name, [packageName, read]]) =>
    whyUnusable(packageName) === undefined ? [[name, read] as const] : [],
  );
  const ways: Record<string, Way<Query>> = { ...Object.fromEntries(others), ...NAPI };
  if (whyMissing(nativeFile) === undefined) ways['rust'] = program(nativeFile());
  return workload<Query>('query', {
    input: () => query,
    ways,
    teardown: closeAll,
  });
}

/** The only engine that the user names, and its URI; without one, a DuckDB in memory. Throws `BB_USAGE` for several. */
function engineOf(engines: FamilyOptions['engines']): readonly [name: string, uri: string] {
  const [first = ['embedded', 'embedded:'] as const, ...others] = Object.entries(engines);
  if (others.length === 0) return first;
  throw new BoundaryError('BB_USAGE', `--sql runs on one engine, not on ${Object.keys(engines).join(' and ')}`);
}

/** The URI by which several processes open a file of DuckDB at once: they only read. */
function sharedUri(uri: string): string {
  if (!/^embedded:[^?]/.test(uri) || uri.includes('access_mode=')) return uri;
  return `${uri}${uri.includes('?') ? '&' : '?'}access_mode=read_only`;
}
