import { type Command, Option } from 'commander';
import { BoundaryError } from '../errors.js';
import { EXIT_OK } from './exit-code.js';
import { interruptible } from './interrupt.js';
import type { SoakOptions, SoakResult } from '../families/ingest/soak.js';
import { parseCount, parseRate, parseSeconds } from './option-values.js';
import type { Finish } from './services.js';

interface SoakFlags {
  readonly url?: string;
  readonly apiKey?: string;
  readonly workers: number;
  readonly batchSize: number;
  readonly durationSecs: number;
  readonly warmupSecs: number;
  readonly encoding: string;
  readonly client: string;
  readonly database: string;
  readonly rate?: number;
  readonly durable?: boolean;
  readonly json?: boolean;
}

const number = (value: number): string => value.toLocaleString('en-US', { maximumFractionDigits: 0 });

/** Adds `soak`. Its environment variables are those of HyperbyteDB's own soak. */
export function addSoakCommand(program: Command, finish: Finish): void {
  program
    .command('soak')
    .summary('post batches of points to HyperbyteDB, or to a server that speaks its API, for a while')
    .description(
      'Posts batches of points to /write, and prints points a second with the percentiles of the latency, and errors by kind.\nAfterwards the server must count what it acknowledged. Ctrl-C ends it early, with what was measured.\nWithout a URL a private server is started.',
    )
    .addOption(new Option('--url <url>', 'the server').env('HYPERBYTEDB_URL'))
    .addOption(
      new Option('--api-key <key>', 'the key that its requests carry; of a HyperbyteDB, user:password').env(
        'INGEST_API_KEY',
      ),
    )
    .addOption(
      new Option('--workers <n>', 'requests under way at once').env('WORKERS').default(12).argParser(parseCount),
    )
    .addOption(
      new Option('--batch-size <n>', 'points of a request').env('BATCH_SIZE').default(1000).argParser(parseCount),
    )
    .addOption(
      new Option('--duration-secs <s>', 'how long to measure').env('DURATION_SECS').default(60).argParser(parseSeconds),
    )
    .addOption(
      new Option('--warmup-secs <s>', 'how long before that').env('WARMUP_SECS').default(5).argParser(parseSeconds),
    )
    .addOption(
      new Option('--encoding <name>', 'of the bodies').choices(['columnar', 'rows', 'lines']).default('columnar'),
    )
    .addOption(
      new Option('--client <name>', 'who encodes and sends').choices(['rust', 'addon', 'undici']).default('addon'),
    )
    .addOption(
      new Option('--rate <n>', 'requests a second, sent whether answers come or not; latency from then').argParser(
        parseRate,
      ),
    )
    .option('--durable', 'the private server acknowledges what is on the disk')
    .option('--database <name>', 'where the points go', 'server')
    .option('--json', 'print JSON')
    .action(async (flags: SoakFlags) => {
      const { exitCode = EXIT_OK } = await interruptible(
        (signal) => soak(flags, signal),
        () => process.stderr.write('Stopping after the requests in flight; Ctrl-C again to stop at once.\n'),
      );
      finish(exitCode);
    });
}

/** Runs the soak and prints its result. Throws the error of the count after the figures are printed. */
async function soak(flags: SoakFlags, signal: AbortSignal): Promise<void> {
  const [{ runSoak, SOAK_CLIENTS }, { SOAK_ENCODINGS }, { openTarget, withApiKey }] = await Promise.all([
    import('../families/ingest/soak.js'),
    import('../families/ingest/soak-client.js'),
    import('../families/requests/target-server.js'),
  ]);
  const encoding = SOAK_ENCODINGS.find((name) => name === flags.encoding);
  const client = SOAK_CLIENTS.find((name) => name === flags.client);
  if (encoding === undefined || client === undefined) throw new BoundaryError('BB_INVALID_ARGUMENT', 'no such soak');
  if (flags.durable === true && flags.url !== undefined) {
    throw new BoundaryError('BB_USAGE', '--durable is for a private server; the one of --url decides itself');
  }
  const { url, apiKey } = flags;
  const engines: Record<string, string> = url === undefined ? {} : { ingest: withApiKey(url, apiKey) };
  const server = await openTarget('ingest', engines, flags.durable === true ? ['--durable'] : []);
  try {
    const { workers, batchSize, durationSecs, warmupSecs, rate, database } = flags;
    const options = {
      client,
      encoding,
      workers,
      batchSize,
      durationSeconds: durationSecs,
      warmupSeconds: warmupSecs,
      rate,
      database,
    };
    const result = await runSoak({ url: server.url, ...options }, signal);
    const version = `${server.version}${flags.durable === true ? ', durable' : ''}`;
    process.stdout.write(
      flags.json === true
        ? `${JSON.stringify({ server: version, ...options, ...result })}\n`
        : `${linesOf(version, options, result).join('\n')}\n`,
    );
    check(result, server.ending());
  } finally {
    await server.close();
  }
}

function linesOf(
  version: string,
  { client, encoding, workers, batchSize, rate }: Omit<SoakOptions, 'url'>,
  { points, seconds, requests, latency, errors, acknowledged, uncertain, unsent, count }: SoakResult,
): string[] {
  const rateAsked = rate === undefined ? '' : `, ${rate} requests/s asked for`;
  const rateReached = seconds > 0 ? points / seconds : 0;
  return [
    `${version}, ${encoding}, ${client}: ${workers} workers, ${batchSize} points a request${rateAsked}`,
    `${number(rateReached)} points/s: ${number(points)} in ${seconds.toFixed(1)} s, ${number(requests)} requests`,
    `latency in µs: p50 ${latency.p50}, p90 ${latency.p90}, p95 ${latency.p95}, p99 ${latency.p99}, p99.9 ${latency.p999}, max ${latency.max}`,
    // Up to one request per worker may still be due at the end.
    ...(unsent > workers
      ? [`${number(unsent)} requests were due and not sent: the rate is more than was reached`]
      : []),
    ...Object.entries(errors).map(([kind, times]) => `failed: ${number(times)} × ${kind}`),
    ...(count.outcome === 'unknown'
      ? []
      : [`the server counts ${number(count.counted)} points; ${number(acknowledged)} were acknowledged`]),
    ...(uncertain > 0 ? [`${number(uncertain)} points more got no answer: they may be kept or not`] : []),
  ];
}

/** Throws if nothing was written, or the server does not count the points that it acknowledged. */
function check({ count, requests, errors, acknowledged, uncertain }: SoakResult, ending: string | undefined): void {
  const [kind] = Object.entries(errors).toSorted(([, some], [, others]) => others - some)[0] ?? [];
  if (requests === 0 && kind !== undefined) {
    throw new BoundaryError('BB_ENGINE', `no request of the soak succeeded: ${ending ?? kind}`);
  }
  if (count.outcome === 'right') return;
  const were = `${acknowledged} points were acknowledged, and ${uncertain} more got no answer`;
  if (count.outcome === 'unknown') {
    throw new BoundaryError('BB_ENGINE', `the server can't be asked for its count: ${ending ?? count.why}; ${were}`);
  }
  throw new BoundaryError('BB_CHECKSUM_MISMATCH', `the server counts ${count.counted} points; ${were}`);
}
