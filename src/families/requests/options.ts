/** The options that families of requests share. */
import { HIDDEN } from '../../redact-url.js';
import { type FilledValues, type OptionTable, option } from '../option.js';
import { client, count, grid, rate, rows, text } from '../option-values.js';
import type { FamilyOptions } from '../workload.js';
import type { ServerKind } from './target-server.js';

const OWN = { otherwise: "the family's own" };
const CLOSED_LOOP = { otherwise: 'each after the last' };

/** Options of every family of requests. */
export const REQUEST_OPTIONS = {
  connections: option(
    '--connections <list>',
    grid,
    'numbers of connections, each with one request in flight, or all',
    OWN,
  ),
  batch: option('--batch <list>', grid, 'numbers of operations per request, or all', OWN),
  operations: option('--operations <n>', rows, 'operations of each sample', OWN),
  rate: option('--rate <n>', rate, 'requests per second, sent whether answers come or not', CLOSED_LOOP),
} satisfies OptionTable;

/** The option of the families that a client of the user's can join. */
export const CLIENT_OPTIONS = {
  client: option(
    '--client <file>',
    client,
    'a module with a client of your own for kv, sql, rest or measurements; napi:<file> if it is an addon',
    {
      otherwise: 'none',
    },
  ),
} satisfies OptionTable;

/** The option of the families whose cells several processes can measure at once. */
export const PROCESS_OPTIONS = {
  processes: option(
    '--processes <n>',
    count,
    'processes that send at once, each over all --connections of kv, sql, rest',
    {
      otherwise: '1',
    },
  ),
} satisfies OptionTable;

export type RequestValues = FilledValues<typeof REQUEST_OPTIONS> &
  FilledValues<typeof PROCESS_OPTIONS> &
  FilledValues<typeof CLIENT_OPTIONS>;
export type RequestOptions = FamilyOptions & RequestValues;

const ABOUT_KEY = 'the key that requests of rest, ingest and hybrid carry';

/** The options that name the server of each kind, and the key that its requests carry if the URL holds none. */
export const SERVER_OPTIONS: Readonly<Record<ServerKind, OptionTable>> = {
  mysql: server('mysql', 'a server that speaks the MySQL wire', 'a private server'),
  redis: server('redis', 'a server that speaks the Redis wire', 'a private server'),
  'redis-cluster': server('redis-cluster', 'a server of a Redis Cluster', 'a private cluster of three masters'),
  rest: withKey('rest', "a server with RonDB's REST API", 'a private reference server'),
  ingest: withKey('ingest', 'a HyperbyteDB to write to', 'a private reference server'),
  shards: withKey('shards', 'the addresses of shards in their order', 'private shards', '<list>'),
};

function server(kind: ServerKind, help: string, otherwise: string, value = '<url>'): OptionTable {
  const variable = `${kind.toUpperCase().replaceAll('-', '_')}_URL`;
  return { [`engines.${kind}`]: option(`--${kind}-url ${value}`, text, help, { otherwise, variable }) };
}

function withKey(kind: ServerKind, ...about: [help: string, otherwise: string, value?: string]): OptionTable {
  const details = { variable: `${kind.toUpperCase()}_API_KEY`, redact: () => HIDDEN };
  return { ...server(kind, ...about), [`apiKeys.${kind}`]: option('--api-key <key>', text, ABOUT_KEY, details) };
}
