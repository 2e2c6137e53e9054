import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { BoundaryError } from '../errors.js';
import { hyperdAt } from '../host/hyperd.js';
import { type CellFilters, FILTER_NAMES } from '../runner/filters.js';
import type { RunRequest } from '../runner/run-config.js';
import { settingsOfVariables } from '../families/hybrid/options.js';
import { API_KEY_VARIABLES } from '../families/requests/api-keys.js';
import {
  parseCounts,
  parseEngineUri,
  parseGrid,
  parseRate,
  parseRows,
  parseScale,
  parseWords,
} from './option-values.js';

/** The options that select cells, common to `run` and `list`. */
export interface MatrixOptions extends CellFilters {
  readonly rows?: number;
  readonly workers?: readonly number[];
  readonly engineUri?: Readonly<Record<string, string>>;
  readonly hyperd?: string;
  readonly peers?: boolean;
  readonly mysqlUrl?: string;
  readonly redisUrl?: string;
  readonly restUrl?: string;
  readonly apiKey?: string;
  readonly ingestUrl?: string;
  readonly shardsUrl?: string;
  readonly scale?: number;
  readonly dataDir?: string;
  readonly skipPopulate?: boolean;
  readonly netDelayUs?: number;
  readonly netBandwidthMbps?: number;
  readonly netBy?: string;
  readonly threads?: readonly number[] | 'all';
  readonly batch?: readonly number[] | 'all';
  readonly operations?: number;
  readonly rate?: number;
}

const FILTER_EXAMPLES: Readonly<Record<(typeof FILTER_NAMES)[number], string>> = {
  family: 'measurements,kv,sql',
  workload: 'query.*',
  lane: 'staged-row,columns',
  side: 'rust,napi,js',
  engine: 'embedded',
  transport: 'tcp,ipc,grpc-*',
};

/** The heading of the options without a group. */
const OTHER_OPTIONS = 'Options:';

export function addMatrixOptions(command: Command): Command {
  command
    .argument('[rows]', "rows of each workload: 1000000, 1_000_000, 1M, 500K (default: the family's own)", parseRows)
    .option('--rows <n>', 'the same as an option', parseRows);
  for (const name of FILTER_NAMES) {
    command.addOption(
      new Option(`--${name} <list>`, `only these, e.g. ${FILTER_EXAMPLES[name]}`).argParser(parseWords),
    );
  }
  return command
    .option('--workers <list>', 'numbers of workers, e.g. 1,4 (default: 1 and the number of cores)', parseCounts)
    .option('--engine-uri <name=uri>', 'where an engine keeps its rows; may be repeated', parseEngineUri)
    .option(
      '--hyperd <path>',
      'the hyperd to start for the engine hyper (default: HYPERD_PATH, or where `setup` put it)',
    )
    .option(
      '--peers',
      'also clients one could pick instead: node:sqlite, better-sqlite3, nodejs-polars, valkey-glide, where installed',
    )
    .optionsGroup('Request work (the families sql, kv, rest, ingest and hybrid, measured where they are named):')
    .option('--mysql-url <url>', 'a server that speaks the MySQL wire (default: MYSQL_URL, or a private server)')
    .option('--redis-url <url>', 'a server that speaks the Redis wire (default: REDIS_URL, or a private server)')
    .option('--rest-url <url>', "a server with RonDB's REST API (default: REST_URL, or a private reference server)")
    .option(
      '--api-key <key>',
      'the key that requests of rest, ingest and hybrid carry (default: REST_API_KEY, INGEST_API_KEY, SHARDS_API_KEY)',
    )
    .option('--ingest-url <url>', 'a HyperbyteDB to write to (default: INGEST_URL, or a private reference server)')
    .option('--shards-url <list>', 'the addresses of shards in their order (default: SHARDS_URL, or private shards)')
    .option('--scale <n>', 'of hybrid: the part of 75 million rows (default: HYBRID_SCALE, or 0.01)', parseScale)
    .option(
      '--data-dir <path>',
      'of hybrid: where private shards keep their rows (default: HYBRID_DATA_DIR, or memory)',
    )
    .option('--net-delay-us <n>', 'of hybrid: delay gRPC so many microseconds each way', parseRate)
    .option('--net-bandwidth-mbps <n>', 'of hybrid: megabits a second each way, of a shard or a connection', parseRate)
    .addOption(
      new Option(
        '--net-by <who>',
        'of hybrid: who does both: the kernel (netem, as root), else a proxy (default: auto)',
      ).choices(['auto', 'kernel', 'proxy']),
    )
    .option(
      '--skip-populate',
      'of hybrid: use the rows that are there, once they are checked to be those of this scale',
    )
    .option(
      '--threads <list>',
      "numbers of connections, each with one request in flight, or all (default: the family's own)",
      parseGrid,
    )
    .option('--batch <list>', "numbers of operations a request, or all (default: the family's own)", parseGrid)
    .option('--operations <n>', "operations of each sample (default: the family's own)", parseRows)
    .option(
      '--rate <n>',
      'requests a second, sent whether answers come or not (default: each after the last)',
      parseRate,
    )
    .optionsGroup(OTHER_OPTIONS);
}

/**
 * The request for a run that the options make. Throws a `BoundaryError` with the code `BB_USAGE` if two of them contradict, or
 * `--hyperd` names no hyperd.
 */
export function requestFrom(rowsArgument: number | undefined, options: MatrixOptions): RunRequest {
  if (rowsArgument !== undefined && options.rows !== undefined && rowsArgument !== options.rows) {
    throw new BoundaryError('BB_USAGE', `rows are given twice: ${rowsArgument} and --rows ${options.rows}`);
  }
  if (options.hyperd !== undefined) chooseHyperd(options.hyperd);
  // Passed by an environment variable, so that the key is in no result file.
  if (options.apiKey !== undefined) {
    for (const variable of Object.values(API_KEY_VARIABLES)) process.env[variable] = options.apiKey;
  }
  if (options.dataDir !== undefined) process.env['HYBRID_DATA_DIR'] = resolve(options.dataDir);
  if (options.skipPopulate === true) process.env['HYBRID_SKIP_POPULATE'] = '1';
  const filters = FILTER_NAMES.flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]] as const]));
  return {
    rows: rowsArgument ?? options.rows,
    workers: options.workers,
    engines: enginesOf(options),
    filters: Object.fromEntries(filters),
    peers: options.peers,
    threads: options.threads,
    batch: options.batch,
    operations: options.operations,
    rate: options.rate,
    settings: settingsFrom(options),
  };
}

/**
 * The settings of a run; environment variables apply to missing options. They are recorded with the run, and compared if it is
 * resumed.
 */
function settingsFrom({ scale, netDelayUs, netBandwidthMbps, netBy }: MatrixOptions): RunRequest['settings'] {
  const given = { scale, netDelayUs, netBandwidthMbps, netBy };
  const named = Object.entries(given).filter((entry): entry is [string, string | number] => entry[1] !== undefined);
  return { ...settingsOfVariables(), ...Object.fromEntries(named) };
}

/** The engine URIs, with the servers' URLs as the URIs of the engines of the same names. */
function enginesOf({
  engineUri,
  mysqlUrl,
  redisUrl,
  restUrl,
  ingestUrl,
  shardsUrl,
}: MatrixOptions): RunRequest['engines'] {
  const urls = {
    ...(mysqlUrl === undefined ? {} : { mysql: mysqlUrl }),
    ...(redisUrl === undefined ? {} : { redis: redisUrl }),
    ...(restUrl === undefined ? {} : { rest: restUrl }),
    ...(ingestUrl === undefined ? {} : { ingest: ingestUrl }),
    ...(shardsUrl === undefined ? {} : { shards: shardsUrl }),
  };
  for (const name of Object.keys(urls)) {
    if (engineUri?.[name] !== undefined) {
      throw new BoundaryError('BB_USAGE', `the server ${name} is given twice: by --${name}-url and --engine-uri`);
    }
  }
  return Object.keys(urls).length === 0 ? engineUri : { ...engineUri, ...urls };
}

/** Sets the environment variable by which both this process and the addon find hyperd. */
function chooseHyperd(path: string): void {
  const found = hyperdAt(resolve(path));
  if (found === undefined) throw new BoundaryError('BB_USAGE', `--hyperd ${path}: there is no hyperd`);
  process.env['HYPERD_PATH'] = found;
}
