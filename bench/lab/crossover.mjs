/**
 * Direct, batching or scatter-gather, and the network delays at which each wins: rows of shards got in each way, at
 * several delays.
 */
import { rateRatio } from '../../dist/compare/rate-ratio.js';
import { columns } from '../../dist/report/document.js';
import { UNKNOWN, formatFactor, formatLatency } from '../../dist/report/format.js';

const ONE_BY_ONE = { name: 'one by one', workload: 'point_lookup', connections: 1, batch: 1 };
const IN_FLIGHT = { name: 'ten in flight', workload: 'point_lookup', connections: 10, batch: 1 };
const TOGETHER = multiGet(10);

/** The ways to get rows that are compared, in the order of the table's columns. */
const WAYS = [ONE_BY_ONE, IN_FLIGHT, TOGETHER, multiGet(100), multiGet(1000)];

/** The ways that ask for at most ten rows at a time. */
const SMALL_WAYS = [ONE_BY_ONE, IN_FLIGHT, TOGETHER];

/** The settings that use the network for all or some shards. */
const REMOTE_SETTINGS = ['grpc', 'hybrid'];

const SIDES = ['rust', 'napi', 'js'];

const NOTES = [
  'Microseconds per row: all gRPC / hybrid, the first of three shards in this process. Ten in flight: ten connections, each with its ' +
    'next request as soon as the last is answered, so that none waits for the slowest of ten. multiGet asks all shards at the ' +
    'same time. Direct: all shards in this process. Measured: half of the extra time of a call of one row.',
];

function multiGet(batch) {
  return { name: `multiGet of ${batch}`, workload: 'multi_get', connections: 1, batch };
}

/** The time per row of each way, at each delay and on each side, with the fastest way of those with at most ten rows. */
export function crossoverTable(runs) {
  const titles = WAYS.map(({ name }) => `>${name}`);
  const rows = SIDES.flatMap((side) => [
    ...directRows(runs, side),
    ...runs.filter((run) => recordOf(run, side, 'grpc', ONE_BY_ONE) !== undefined).map((run) => delayRow(run, side)),
  ]);
  return {
    table: { columns: columns('Side', '>Each way', '>Measured', ...titles, 'Fastest of at most ten'), rows },
    notes: rows.length === 0 ? [] : NOTES,
  };
}

/** The row of direct shards, which no network delays, so one row covers all delays. */
function directRows(runs, side) {
  const run = runs.find((candidate) => recordOf(candidate, side, 'direct', ONE_BY_ONE) !== undefined);
  if (run === undefined) return [];
  const times = WAYS.map((way) => timeText(recordOf(run, side, 'direct', way)));
  return [[side, 'direct', UNKNOWN, ...times, UNKNOWN]];
}

function delayRow(run, side) {
  const { delayUs, network } = run;
  const measured = network === undefined ? UNKNOWN : `${formatLatency((network.delayed.p50 - network.plain.p50) / 2)}`;
  const times = WAYS.map((way) =>
    REMOTE_SETTINGS.map((setting) => recordOf(run, side, setting, way))
      .filter((record) => record !== undefined)
      .map(timeText)
      .join(' / '),
  );
  return [side, `${delayUs} µs`, measured, ...times, fastestOfTen(run, side)];
}

/** The fastest way with at most ten rows, and its factor over the next. */
function fastestOfTen(run, side) {
  const candidates = REMOTE_SETTINGS.flatMap((setting) =>
    SMALL_WAYS.flatMap((way) => {
      const record = recordOf(run, side, setting, way);
      return record === undefined ? [] : [{ setting, way, record }];
    }),
  ).toSorted((a, b) => microseconds(a.record) - microseconds(b.record));
  const [first, second] = candidates;
  if (first === undefined || second === undefined) return UNKNOWN;
  const ratio = rateRatio(first.record, second.record);
  const name = `${first.way.name}, ${first.setting}`;
  return ratio !== undefined && ratio.low > 1
    ? `${name}: ${formatFactor(ratio.ratio)} the next`
    : `${name}, no faster than ${second.way.name}, ${second.setting}`;
}

/** The findings, computed: the delays at which each way wins, and its factor at each delay in turn. */
export function crossoverFindings(runs) {
  const contender = (setting, way) => ({
    name: `${way.name} (${setting})`,
    at: (run, side) => recordOf(run, side, setting, way),
  });
  const pairs = [
    [contender('grpc', TOGETHER), contender('grpc', ONE_BY_ONE)],
    [contender('grpc', TOGETHER), contender('grpc', IN_FLIGHT)],
    [contender('grpc', TOGETHER), contender('hybrid', ONE_BY_ONE)],
    [contender('hybrid', ONE_BY_ONE), contender('grpc', ONE_BY_ONE)],
    ...WAYS.slice(2).map((way) => [contender('hybrid', way), contender('grpc', way)]),
  ];
  return pairs.flatMap(([a, b]) => {
    const found = SIDES.flatMap((side) => finding(runs, side, a, b) ?? []);
    return found.length === 0 ? [] : [`${a.name} beats ${b.name}: ${found.join('; ')}.`];
  });
}

/** The delays at which one way is faster than the other on a side; `undefined` if they were not both measured. */
function finding(runs, side, a, b) {
  const ratios = runs.flatMap((run) => {
    const [over, under] = [a.at(run, side), b.at(run, side)];
    const ratio = over && under && rateRatio(over, under);
    return ratio === undefined ? [] : [{ delayUs: run.delayUs, ratio }];
  });
  if (ratios.length === 0) return undefined;
  return `${side} ${whereFaster(ratios)} (${ratios.map(({ ratio }) => formatFactor(ratio.ratio)).join(', ')})`;
}

/** The text of the delays at which a way wins, given in ascending order: `from 500 µs each way on`. */
function whereFaster(ratios) {
  const wins = ratios.map(({ ratio }) => ratio.low > 1);
  const first = wins.indexOf(true);
  const last = wins.lastIndexOf(true);
  if (first === -1) return 'nowhere';
  if (wins.every(Boolean)) return 'at every delay';
  const isOneSpan = wins.slice(first, last + 1).every(Boolean);
  if (isOneSpan && last === wins.length - 1) return `from ${ratios[first].delayUs} µs each way on`;
  if (isOneSpan && first === 0 && last === 0) return `at ${ratios[0].delayUs} µs alone`;
  if (isOneSpan && first === 0) return `up to ${ratios[last].delayUs} µs each way`;
  const places = ratios.filter((_, index) => wins[index]).map(({ delayUs }) => `${delayUs} µs`);
  return `at ${places.join(', ')}`;
}

function recordOf({ records }, side, setting, { workload, connections, batch }) {
  return records.find(
    (record) =>
      record.workload === workload &&
      record.side === side &&
      record.transport === setting &&
      record.connections === connections &&
      record.batch === batch,
  );
}

function microseconds({ summary, operations }) {
  return (summary.medianSeconds / operations) * 1e6;
}

/** The microseconds per row with three digits, without the unit. */
function timeText(record) {
  if (record === undefined) return UNKNOWN;
  const time = microseconds(record);
  return time < 9.95 ? time.toFixed(2) : time < 99.5 ? time.toFixed(1) : time.toFixed(0);
}
