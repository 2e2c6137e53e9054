import { type FilledValues, type OptionTable, option } from '../option.js';
import { count, flag, rate, seconds, text } from '../option-values.js';

/** The encodings of `/write`. */
export const SOAK_ENCODINGS = ['columnar', 'rows', 'lines'] as const;

/** The side that encodes and sends: Rust alone, the addon, or JavaScript alone. */
export const SOAK_CLIENTS = ['rust', 'addon', 'undici'] as const;

const KEY_HELP = 'the key that its requests carry; of a HyperbyteDB, user:password';
const RATE_HELP = 'requests per second, sent whether answers come or not; latency from then';
const CLOSED_LOOP = { otherwise: 'each after the last' };
const DURATION = { default: 60, variable: 'DURATION_SECS' };
const WARM_UP = { default: 5, variable: 'WARMUP_SECS' };

/** The options of a soak. HyperbyteDB's own soak has the same variables. */
export const SOAK_OPTIONS = {
  url: option('--url <url>', text, 'the server', { otherwise: 'a private server', variable: 'HYPERBYTEDB_URL' }),
  apiKey: option('--api-key <key>', text, KEY_HELP, { variable: 'INGEST_API_KEY' }),
  /** Each over a connection of its own. */
  workers: option('--workers <n>', count, 'requests under way at once', { default: 12, variable: 'WORKERS' }),
  batchSize: option('--batch-size <n>', count, 'points per request', { default: 1000, variable: 'BATCH_SIZE' }),
  durationSeconds: option('--duration-secs <s>', seconds, 'how long to measure', DURATION),
  /** Not in the figures, and in the count. */
  warmupSeconds: option('--warmup-secs <s>', seconds, 'how long before that', WARM_UP),
  encoding: option('--encoding <name>', text, 'of the bodies', { choices: SOAK_ENCODINGS, default: 'columnar' }),
  client: option('--client <name>', text, 'who encodes and sends', { choices: SOAK_CLIENTS, default: 'addon' }),
  rate: option('--rate <n>', rate, RATE_HELP, CLOSED_LOOP),
  durable: option('--durable', flag, 'the private server acknowledges what is on the disk'),
  database: option('--database <name>', text, 'where the points go', { default: 'server' }),
} satisfies OptionTable;

export type SoakValues = FilledValues<typeof SOAK_OPTIONS>;
export type SoakEncoding = SoakValues['encoding'];
