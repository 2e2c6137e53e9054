/** Latency against offered load: what each client answered at rising rates, and where it broke. */
import { groupBy } from '../../dist/compare/cell-groups.js';
import { medianOf, processCpuOf, rateOf, serverCpuOf } from '../../dist/stats/summary.js';
import { columns } from '../../dist/report/document.js';
import { UNKNOWN, formatLatency, formatPercent, formatShortRate } from '../../dist/report/format.js';

/** The part of the offered rate below which a client has broken. */
const KEPT_RATE = 0.97;

/** The p99 in nanoseconds above which a client has broken, even where it keeps the rate. */
const MOST_P99 = 20e6;

/** The part of the p99 that the generator's own lateness must exceed to have been the limit. */
const MOST_BEHIND = 0.5;

const GENERATOR_LIMIT = ' ◊';
const BROKEN = ' ✕';

const NOTES = [
  'Open loops: requests are sent at the offered rate, whether answers come or not, and a latency counts from the time at which its ' +
    "request was due. Generator behind: the p99 of the delays with which the client's own process sent. CPU: of the client, and " +
    "after the + of the server, where 100% is one busy core; Node's includes the turns of the event loop until a request is due.",
  `✕ The client broke: it achieved less than ${formatPercent(KEPT_RATE)} of the rate, or its p99 is above ${formatLatency(MOST_P99)}.`,
];

const GENERATOR_NOTE = '◊ The generator was the limit: its own lateness is more than half of the p99.';

/** The figures of an open loop at one rate. Latencies are in nanoseconds. */
export function stepOf(record) {
  const { family, workload, side, variant, threads, rate, latency, behind } = record;
  const shareOf = (cpuOf) => {
    const share = medianOf(record, (sample) => cpuOf(sample) && cpuOf(sample) / sample.seconds);
    return share === undefined ? undefined : Number(share.toPrecision(3));
  };
  const percentiles = ({ p50, p99, p999, max }) => ({ p50, p99, p999, max });
  return {
    family,
    workload,
    side,
    variant,
    threads,
    offered: rate,
    achieved: Number(rateOf(record).toPrecision(6)),
    latency: percentiles(latency),
    behind: percentiles(behind),
    clientCpu: shareOf(processCpuOf),
    serverCpu: shareOf(serverCpuOf),
  };
}

/** Whether the client did not keep up with the offered rate. */
export function isBroken({ offered, achieved, latency }) {
  return achieved < KEPT_RATE * offered || latency.p99 > MOST_P99;
}

/** Whether the load generator, not the server, made the latencies what they are. */
export function isGeneratorBound({ latency, behind }) {
  return behind.p99 > MOST_BEHIND * latency.p99;
}

/** The steps, client by client in the order of their rates. */
export function offeredLoadTable(steps) {
  const rows = byClient(steps).flatMap((ofClient) =>
    ofClient.map((step) => [
      `${step.family} ${step.workload}`,
      nameOf(step),
      formatShortRate(step.offered),
      formatShortRate(step.achieved) + (isBroken(step) ? BROKEN : ''),
      formatLatency(step.latency.p50),
      formatLatency(step.latency.p99),
      formatLatency(step.behind.p99) + (isGeneratorBound(step) ? GENERATOR_LIMIT : ''),
      cpuText(step),
    ]),
  );
  const isAnyBound = steps.some(isGeneratorBound);
  return {
    table: {
      columns: columns('Benchmark', 'Client', '>Offered', '>Achieved', '>Median', '>p99', '>Generator behind', '>CPU'),
      rows,
    },
    notes: rows.length === 0 ? [] : [...NOTES, ...(isAnyBound ? [GENERATOR_NOTE] : [])],
  };
}

/** For each client, the highest rate that it kept, and where it broke. */
export function offeredLoadFindings(steps) {
  return byClient(steps).map((ofClient) => {
    // One pause of the machine breaks a step, but not a client that keeps the next rate.
    const kept = ofClient.findLast((step) => !isBroken(step));
    const broken = ofClient.find((step) => step.offered > (kept?.offered ?? 0));
    const [{ family, workload }] = ofClient;
    const missed = ofClient.filter((step) => isBroken(step) && step.offered < (kept?.offered ?? 0));
    const but =
      missed.length === 0 ? '' : `, but not ${missed.map((step) => formatShortRate(step.offered) + BROKEN).join(', ')}`;
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

function cpuText({ clientCpu, serverCpu }) {
  const client = clientCpu === undefined ? UNKNOWN : formatPercent(clientCpu);
  return serverCpu === undefined ? client : `${client} + ${formatPercent(serverCpu)}`;
}
