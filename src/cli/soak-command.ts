import { type Command, Option } from 'commander';
import { BoundaryError } from '../errors.js';
import { EXIT_OK } from './exit-code.js';
import { interruptible } from './interrupt.js';
import { parseCount, parseRate, parseSeconds } from './option-values.js';
import type { Finish } from './services.js';

interface SoakFlags {
  readonly url?: string;
  readonly workers: number;
  readonly batchSize: number;
  readonly durationSecs: number;
  readonly warmupSecs: number;
  readonly encoding: string;
  readonly client: string;
  readonly database: string;
  readonly rate?: number;
  readonly json?: boolean;
}

const number = (value: number): string => value.toLocaleString('en-US', { maximumFractionDigits: 0 });

/** Its variables are those of HyperbyteDB's own soak. */
export function addSoakCommand(program: Command, finish: Finish): void {
  program
    .command('soak')
    .summary('post batches of points to HyperbyteDB, or to a server that speaks its API, for a while')
    .description(
      'Posts batches of points to /write, and prints points a second with the percentiles of the latency, and errors by kind.\nAfterwards the server must count what it acknowledged. Without a URL a private server is started.',
    )
    .addOption(new Option('--url <url>', 'the server').env('HYPERBYTEDB_URL'))
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
    .addOption(new Option('--client <name>', 'who encodes and sends').choices(['addon', 'undici']).default('addon'))
    .addOption(
      new Option('--rate <n>', 'requests a second, sent whether answers come or not; latency from then').argParser(
        parseRate,
      ),
    )
    .option('--database <name>', 'where the points go', 'server')
    .option('--json', 'print JSON')
    .action(async (flags: SoakFlags) => {
      await interruptible(
        (signal) => soak(flags, signal),
        () => process.stderr.write('Stopping; Ctrl-C again to stop at once.\n'),
      );
      finish(EXIT_OK);
    });
}

async function soak(flags: SoakFlags, signal: AbortSignal): Promise<void> {
  const [{ runSoak }, { openSoakClient, SOAK_CLIENTS, SOAK_ENCODINGS }, { openTarget }] = await Promise.all([
    import('../workloads/ingest/soak.js'),
    import('../workloads/ingest/soak-client.js'),
    import('../workloads/requests/target-server.js'),
  ]);
  const encoding = SOAK_ENCODINGS.find((name) => name === flags.encoding);
  const name = SOAK_CLIENTS.find((name) => name === flags.client);
  if (encoding === undefined || name === undefined) throw new BoundaryError('BB_INVALID_ARGUMENT', 'no such soak');
  const server = await openTarget('ingest', flags.url === undefined ? {} : { ingest: flags.url });
  const client = openSoakClient(name, server.url, flags.workers, encoding);
  try {
    const { workers, batchSize, durationSecs, warmupSecs, rate, database } = flags;
    const options = { workers, batchSize, durationSeconds: durationSecs, warmupSeconds: warmupSecs, rate, database };
    const result = await runSoak(client, options, signal);
    if (flags.json) {
      process.stdout.write(
        `${JSON.stringify({ server: server.version, encoding, client: name, ...options, ...result })}\n`,
      );
      return;
    }
    const { latency, errors } = result;
    const lines = [
      `${server.version}, ${encoding}, ${name}: ${workers} workers, ${batchSize} points a request${rate === undefined ? '' : `, ${rate} requests/s asked for`}`,
      `${number(result.points / result.seconds)} points/s: ${number(result.points)} in ${result.seconds.toFixed(1)} s, ${number(result.requests)} requests`,
      `latency in µs: p50 ${latency.p50}, p90 ${latency.p90}, p95 ${latency.p95}, p99 ${latency.p99}, p99.9 ${latency.p999}, max ${latency.max}`,
      ...Object.entries(errors).map(([kind, count]) => `failed: ${count} × ${kind}`),
      `the server counts ${number(result.counted)} points; ${number(result.acknowledged)} were acknowledged`,
    ];
    process.stdout.write(`${lines.join('\n')}\n`);
  } finally {
    await client.close();
    await server.close();
  }
}
