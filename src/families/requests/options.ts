/** The options that families of requests share. */
import { HIDDEN } from '../../redact-url.js';
import { type Details, type FilledValues, type Option, type OptionTable, option } from '../option.js';
import { kinds } from '../option-values.js';
import type { FamilyOptions } from '../workload.js';
import type { ServerKind } from './target-server.js';

const OWN = { otherwise: "the family's own" };
const CLOSED_LOOP = { otherwise: 'each after the last' };

/** Options of every family of requests. */
export const REQUEST_OPTIONS = {
  threads: option(
    '--threads <list>',
    kinds.grid,
    'numbers of connections, each with one request in flight, or all',
    OWN,
  ),
  batch: option('--batch <list>', kinds.grid, 'numbers of operations a request, or all', OWN),
  operations: option('--operations <n>', kinds.rows, 'operations of each sample', OWN),
  rate: option('--rate <n>', kinds.rate, 'requests a second, sent whether answers come or not', CLOSED_LOOP),
} satisfies OptionTable;

export type RequestValues = FilledValues<typeof REQUEST_OPTIONS>;
export type RequestOptions = FamilyOptions & RequestValues;

/** The options that name the server of each kind, and the key that its requests carry where the URL holds none. */
export const SERVER_OPTIONS = {
  mysql: server('mysql', '<url>', 'a server that speaks the MySQL wire', 'a private server'),
  redis: server('redis', '<url>', 'a server that speaks the Redis wire', 'a private server'),
  rest: { ...server('rest', '<url>', "a server with RonDB's REST API", 'a private reference server'), ...key('rest') },
  ingest: { ...server('ingest', '<url>', 'a HyperbyteDB to write to', 'a private reference server'), ...key('ingest') },
  shards: {
    ...server('shards', '<list>', 'the addresses of shards in their order', 'private shards'),
    ...key('shards'),
  },
} satisfies Readonly<Record<ServerKind, OptionTable>>;

function server<K extends ServerKind>(kind: K, value: string, help: string, otherwise: string) {
  return entry(`engines.${kind}`, `--${kind}-url ${value}`, help, { otherwise, variable: `${kind.toUpperCase()}_URL` });
}

function key<K extends ServerKind>(kind: K) {
  const details = { variable: `${kind.toUpperCase()}_API_KEY`, redact: () => HIDDEN };
  return entry(`apiKeys.${kind}`, '--api-key <key>', 'the key that requests of rest, ingest and hybrid carry', details);
}

function entry<Name extends string>(name: Name, flag: string, help: string, details: Details) {
  return { [name]: option(flag, kinds.text, help, details) } as unknown as Readonly<Record<Name, Option>>;
}
