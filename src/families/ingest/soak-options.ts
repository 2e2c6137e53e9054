import { type FilledValues, type OptionTable, option } from '../option.js';
import { kinds } from '../option-values.js';

/** The encodings of `/write`. */
export const SOAK_ENCODINGS = ['columnar', 'rows', 'lines'] as const;

export type SoakEncoding = (typeof SOAK_ENCODINGS)[number];

/** Who encodes and sends: Rust alone, the addon, or JavaScript alone. */
export const SOAK_CLIENTS = ['rust', 'addon', 'undici'] as const;

export type SoakClientName = (typeof SOAK_CLIENTS)[number];

const KEY_HELP = 'the key that its requests carry; of a HyperbyteDB, user:password';
const RATE_HELP = 'requests a second, sent whether answers come or not; latency from then';
const CLOSED_LOOP = { otherwise: 'each after the last' };
const WORKERS = { default: 12, variable: 'WORKERS' };
const BATCH_SIZE = { default: 1000, variable: 'BATCH_SIZE' };
const DURATION = { default: 60, variable: 'DURATION_SECS' };
const WARM_UP = { default: 5, variable: 'WARMUP_SECS' };

/** The options of a soak. The variables are those of HyperbyteDB's own soak. */
export const SOAK_OPTIONS = {
  url: option('--url <url>', kinds.text, 'the server', { otherwise: 'a private server', variable: 'HYPERBYTEDB_URL' }),
  apiKey: option('--api-key <key>', kinds.text, KEY_HELP, { variable: 'INGEST_API_KEY' }),
  /** Each over a connection of its own. */
  workers: option('--workers <n>', kinds.count, 'requests under way at once', WORKERS),
  batchSize: option('--batch-size <n>', kinds.count, 'points of a request', BATCH_SIZE),
  durationSeconds: option('--duration-secs <s>', kinds.seconds, 'how long to measure', DURATION),
  /** Not in the figures, and in the count. */
  warmupSeconds: option('--warmup-secs <s>', kinds.seconds, 'how long before that', WARM_UP),
  encoding: option('--encoding <name>', kinds.text, 'of the bodies', { choices: SOAK_ENCODINGS, default: 'columnar' }),
  client: option('--client <name>', kinds.text, 'who encodes and sends', { choices: SOAK_CLIENTS, default: 'addon' }),
  rate: option('--rate <n>', kinds.rate, RATE_HELP, CLOSED_LOOP),
  durable: option('--durable', kinds.flag, 'the private server acknowledges what is on the disk'),
  database: option('--database <name>', kinds.text, 'where the points go', { default: 'server' }),
} satisfies OptionTable;

export type SoakValues = FilledValues<typeof SOAK_OPTIONS>;
