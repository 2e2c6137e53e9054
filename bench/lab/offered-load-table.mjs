/** Latency against offered load: the latencies of each client at rising rates, and the rate at which it broke. */
import { groupBy } from '../../dist/compare/cell-groups.js';
import { LatencyHistogram } from '../../dist/stats/latency-histogram.js';
import { studentQuantile } from '../../dist/stats/student.js';
import { medianOf, processCpuOf, rateOf, serverCpuOf } from '../../dist/stats/summary.js';
import { columns } from '../../dist/report/document.js';
import { UNKNOWN, formatLatency, formatPercent, formatShortRate } from '../../dist/report/format.js';

/** The part of the offered rate below which a client has broken. */
const KEPT_RATE = 0.97;

/** The p99 in nanoseconds above which a client has broken, even if it keeps the rate. */
const MOST_P99 = 20e6;

/** The part of the p99 that the generator's own lateness must exceed to have been the limit. */
const MOST_BEHIND = 0.5;

/** The part of its thread's time from which on the generator has none left. */
const BUSY = 0.9;

const GENERATOR_LIMIT = ' (generator-bound)';
const BROKEN = ' (broke)';

const LOAD_NOTE =
  'Open loops: requests are sent at the offered rate, whether answers come or not, and a latency counts from the time at which its request ' +
  "was due. Generator behind: the p99 of the delays with which the client's own process sent. Generator CPU: the part of its thread that " +
  "the requests took; the turns of Node's event loop until a request is due are not in it. Server CPU: where 100% is one busy core.";

/** A note for points of several processes alone: in points of one process, the clients had other numbers of connections. */
const STRATEGY_NOTE =
  'All clients have as many connections, each with one request in flight, which one thread drives. In brackets: the 95% interval over the ' +
  'processes that measured a point.';

const BROKEN_NOTE = `(broke): the client achieved less than ${formatPercent(KEPT_RATE)} of the rate, or its p99 is above ${formatLatency(MOST_P99)}.`;

const GENERATOR_NOTE =
  `(generator-bound): the thread of the generator had less than ${formatPercent(1 - BUSY)} of its time left, or its own lateness was more than ` +
  'half of the p99.';

/** The CPU time that a client's requests took: of Node's threads without their turns until a request was due. */
function generatorCpuOf(side) {
  if (side === 'rust') return processCpuOf;
  return ({ mainThreadCpuSeconds: cpu, idleSeconds: idle = 0 }) => (cpu === undefined ? undefined : cpu - idle);
}

/** The cores that something kept busy, in the median sample. */
function coresOf(record, cpuOf) {
  const cores = medianOf(record, (sample) => cpuOf(sample) && cpuOf(sample) / sample.seconds);
  return cores === undefined ? undefined : Number(cores.toPrecision(3));
}

/** The figures of an open loop at one rate. Latencies are in nanoseconds. */
export function stepOf(record) {
  const { family, workload, side, variant, connections, rate, latency, behind, samples } = record;
  const percentiles = ({ p50, p99, p999, max }) => ({ p50, p99, p999, max });
  const ofProcesses = groupBy(samples, ({ fork }) => String(fork));
  const summaries = ofProcesses.map((ofOne) => {
    return LatencyHistogram.merged(ofOne.flatMap(({ latency: text }) => text ?? []))?.summary();
  });
  const interval = (of) => intervalOf(summaries.flatMap((summary) => (summary === undefined ? [] : [of(summary)])));
  return {
    family,
    workload,
    side,
    variant,
    connections,
    offered: rate,
    achieved: Number(rateOf(record).toPrecision(6)),
    processes: ofProcesses.length,
    latency: percentiles(latency),
    intervals: { p50: interval(({ p50 }) => p50), p99: interval(({ p99 }) => p99) },
    behind: percentiles(behind),
    generatorCpu: coresOf(record, generatorCpuOf(side)),
    clientCpu: coresOf(record, processCpuOf),
    serverCpu: coresOf(record, serverCpuOf),
  };
}

/** The 95% interval of the geometric mean of positive values, each of a process; `undefined` for fewer than two. */
export function intervalOf(values) {
  if (values.length < 2) return undefined;
  const logs = values.map((value) => Math.log(value));
  const mean = logs.reduce((sum, log) => sum + log, 0) / logs.length;
  const variance = logs.reduce((sum, log) => sum + (log - mean) ** 2, 0) / (logs.length - 1);
  const half = studentQuantile(0.975, logs.length - 1) * Math.sqrt(variance / logs.length);
  return [mean - half, mean + half].map((log) => Number(Math.exp(log).toPrecision(4)));
}

/** Whether the client did not keep up with the offered rate. */
export function isBroken({ offered, achieved, latency }) {
  return achieved < KEPT_RATE * offered || latency.p99 > MOST_P99;
}

/** Whether the load generator, not the server, made the latencies what they are: its thread was busy, or it sent late. */
export function isGeneratorBound({ latency, behind, generatorCpu = 0 }) {
  return generatorCpu >= BUSY || behind.p99 > MOST_BEHIND * latency.p99;
}

/** The steps, client by client in the order of their rates. */
export function offeredLoadTable(steps) {
  const rows = byClient(steps).flatMap((ofClient) =>
    ofClient.map((step) => [
      `${step.family} ${step.workload}`,
      nameOf(step),
      formatShortRate(step.offered),
      formatShortRate(step.achieved) + (isBroken(step) ? BROKEN : ''),
      latencyText(step, 'p50'),
      latencyText(step, 'p99'),
      formatLatency(step.behind.p99),
      shareText(step.generatorCpu) + (isGeneratorBound(step) ? GENERATOR_LIMIT : ''),
      shareText(step.serverCpu),
    ]),
  );
  const isAnyBound = steps.some(isGeneratorBound);
  return {
    table: {
      columns: columns(
        'Benchmark',
        'Client',
        '>Offered',
        '>Achieved',
        '>Median',
        '>p99',
        '>Generator behind',
        '>Generator CPU',
        '>Server CPU',
      ),
      rows,
    },
    notes:
      rows.length === 0
        ? []
        : [
            LOAD_NOTE,
            ...(steps.every(({ processes = 1 }) => processes > 1) ? [STRATEGY_NOTE] : []),
            BROKEN_NOTE,
            ...(isAnyBound ? [GENERATOR_NOTE] : []),
          ],
  };
}

/** For each client, the highest rate that it kept, and the rate at which it broke. */
export function offeredLoadFindings(steps) {
  return byClient(steps).map((ofClient) => {
    // One pause of the machine breaks a step, but not a client that keeps the next rate.
    const kept = ofClient.findLast((step) => !isBroken(step));
    const broken = ofClient.find((step) => step.offered > (kept?.offered ?? 0));
    const [{ family, workload }] = ofClient;
    const missed = ofClient.filter((step) => isBroken(step) && step.offered < (kept?.offered ?? 0));
    const but =
      missed.length === 0 ? '' : `, but not ${missed.map((step) => formatShortRate(step.offered)).join(', ')}`;
    const held =
      kept === undefined
        ? 'kept no rate'
        : `kept ${formatShortRate(kept.offered)} (p99 ${formatLatency(kept.latency.p99)})${but}`;
    return `${family} ${workload}, ${nameOf(ofClient[0])}: ${held}, ${endOf(broken)}.`;
  });
}

function endOf(broken) {
  if (broken === undefined) return 'and was offered no more';
  const why = isGeneratorBound(broken) ? '; its generator was the limit' : '';
  return `broke at ${formatShortRate(broken.offered)} (${formatShortRate(broken.achieved)}, p99 ${formatLatency(broken.latency.p99)}${why})`;
}

function byClient(steps) {
  const keyOf = ({ family, workload, side, variant }) => JSON.stringify([family, workload, side, variant]);
  return groupBy(steps, keyOf).map((group) => group.toSorted((a, b) => a.offered - b.offered));
}

function nameOf({ side, variant }) {
  return `${side} · ${variant}`;
}

/** A percentile with its interval, if there is one. */
function latencyText({ latency, intervals }, name) {
  const interval = intervals?.[name];
  const text = formatLatency(latency[name]);
  return interval === undefined ? text : `${text} (${interval.map(formatLatency).join('–')})`;
}

function shareText(cores) {
  return cores === undefined ? UNKNOWN : formatPercent(cores);
}
