import type { Command } from 'commander';
import { BoundaryError } from '../errors.js';
import { EXIT_OK } from './exit-code.js';
import { interruptible } from './interrupt.js';
import type { SoakResult } from '../families/ingest/soak.js';
import { SOAK_OPTIONS, type SoakValues } from '../families/ingest/soak-options.js';
import { type GivenValues, valuesOf } from '../families/option.js';
import { type Flags, addFlags, givenBy, givenByVariables } from './matrix-options.js';
import { formatLatency } from '../report/format.js';
import type { Finish } from './services.js';

/** The percentiles that are printed, with their names in the records. */
const PERCENTILES = [
  ['p50', 'p50'],
  ['p90', 'p90'],
  ['p95', 'p95'],
  ['p99', 'p99'],
  ['p99.9', 'p999'],
  ['max', 'max'],
] as const;

const number = (value: number): string => value.toLocaleString('en-US', { maximumFractionDigits: 0 });

export function addSoakCommand(program: Command, finish: Finish): void {
  addFlags(program.command('soak'), SOAK_OPTIONS)
    .summary('post batches of points to HyperbyteDB, or to a server that speaks its API, for a while')
    .description(
      'Posts batches of points to /write, and prints points per second with the percentiles of the latency, ' +
        'and errors by kind.\nAfterwards the server must count what it acknowledged. Ctrl-C ends it early, with ' +
        'what was measured.\nWithout a URL a private server is started.',
    )
    .option('--json', 'print JSON')
    .action(async (flags: Flags) => {
      const { exitCode = EXIT_OK } = await interruptible(
        (signal) => soak(flags, signal),
        () => process.stderr.write('Stopping after the requests in flight; Ctrl-C again to stop at once.\n'),
      );
      finish(exitCode);
    });
}

/** Runs the soak and prints it. Throws what went wrong with the count, after the figures. */
async function soak(flags: Flags, signal: AbortSignal): Promise<void> {
  const [{ runSoak }, { openTarget, withApiKey }] = await Promise.all([
    import('../families/ingest/soak.js'),
    import('../families/requests/target-server.js'),
  ]);
  const given = { ...givenByVariables(SOAK_OPTIONS), ...givenBy(flags, SOAK_OPTIONS) };
  const { url, apiKey, durable, ...options } = valuesOf(SOAK_OPTIONS, given as GivenValues<typeof SOAK_OPTIONS>);
  if (durable === true && url !== undefined) {
    throw new BoundaryError('BB_USAGE', '--durable is for a private server; the one of --url decides itself');
  }
  const engines: Record<string, string> = url === undefined ? {} : { ingest: withApiKey(url, apiKey) };
  const server = await openTarget('ingest', engines, durable === true ? ['--durable'] : []);
  try {
    const result = await runSoak({ url: server.url, ...options }, signal);
    const version = `${server.version}${durable === true ? ', durable' : ''}`;
    process.stdout.write(
      flags['json'] === true
        ? `${JSON.stringify({ server: version, ...options, ...result })}\n`
        : `${linesOf(version, options, result).join('\n')}\n`,
    );
    if (url !== undefined && result.left !== undefined) {
      const points = `${number(result.acknowledged)} points`;
      process.stderr.write(
        `${points} stay on the server, in the measurement ${result.left} of the database ${options.database}\n`,
      );
    }
    check(result, server.ending());
  } finally {
    await server.close();
  }
}

function linesOf(
  version: string,
  { client, encoding, workers, batchSize, rate }: Omit<SoakValues, 'url'>,
  { points, seconds, requests, latency, errors, acknowledged, uncertain, unsent, count }: SoakResult,
): string[] {
  const rateAsked = rate === undefined ? '' : `, ${rate} requests/s asked for`;
  const rateReached = seconds > 0 ? points / seconds : 0;
  return [
    `${version}, ${encoding}, ${client}: ${workers} workers, ${batchSize} points per request${rateAsked}`,
    `${number(rateReached)} points/s: ${number(points)} in ${seconds.toFixed(1)} s, ${number(requests)} requests`,
    `latency: ${PERCENTILES.map(([name, key]) => `${name} ${formatLatency(latency[key])}`).join(', ')}`,
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
