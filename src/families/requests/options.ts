/** The options that families of requests share. */
import { HIDDEN } from '../../redact-url.js';
import type { FilledValues, Option, OptionTable } from '../option.js';
import type { ServerKind } from './target-server.js';

/** Options of every family of requests. */
export const REQUEST_OPTIONS = {
  threads: {
    flag: '--threads <list>',
    type: 'grid',
    help: 'numbers of connections, each with one request in flight, or all',
    otherwise: "the family's own",
  },
  batch: {
    flag: '--batch <list>',
    type: 'grid',
    help: 'numbers of operations a request, or all',
    otherwise: "the family's own",
  },
  operations: {
    flag: '--operations <n>',
    type: 'rows',
    help: 'operations of each sample',
    otherwise: "the family's own",
  },
  rate: {
    flag: '--rate <n>',
    type: 'rate',
    help: 'requests a second, sent whether answers come or not',
    otherwise: 'each after the last',
  },
} as const satisfies OptionTable;

export type RequestValues = FilledValues<typeof REQUEST_OPTIONS>;

/** The options that name the server of each kind, and the key that its requests carry where the URL holds none. */
export const SERVER_OPTIONS = {
  mysql: { 'engines.mysql': server('mysql', 'a server that speaks the MySQL wire', 'a private server') },
  redis: { 'engines.redis': server('redis', 'a server that speaks the Redis wire', 'a private server') },
  rest: {
    'engines.rest': server('rest', "a server with RonDB's REST API", 'a private reference server'),
    'apiKeys.rest': key('rest'),
  },
  ingest: {
    'engines.ingest': server('ingest', 'a HyperbyteDB to write to', 'a private reference server'),
    'apiKeys.ingest': key('ingest'),
  },
  shards: {
    'engines.shards': server('shards', 'the addresses of shards in their order', 'private shards', '<list>'),
    'apiKeys.shards': key('shards'),
  },
} as const satisfies Readonly<Record<ServerKind, OptionTable>>;

function server(kind: ServerKind, help: string, otherwise: string, value = '<url>'): Option {
  return { flag: `--${kind}-url ${value}`, type: 'text', help, otherwise, variable: `${kind.toUpperCase()}_URL` };
}

function key(kind: ServerKind): Option {
  const help = 'the key that requests of rest, ingest and hybrid carry';
  const variable = `${kind.toUpperCase()}_API_KEY`;
  return { flag: '--api-key <key>', type: 'text', help, variable, redact: () => HIDDEN };
}
