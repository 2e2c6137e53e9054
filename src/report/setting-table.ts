/** The gain of data in this process over data behind gRPC: the same work on the same side, in each of the three settings. */
import { groupBy } from '../compare/cell-groups.js';
import type { Judge } from '../compare/judge.js';
import type { CompletedRecord, SimulatedNetwork } from '../records/record.js';
import { rateOf } from '../stats/summary.js';
import { tableOf } from './document.js';
import { atRatio, UNKNOWN, formatCount, formatFactorInterval, formatShortRate } from './format.js';
import type { MarkedTable } from './head-to-head.js';
import { networkText } from './host-block.js';
import { percentileText } from './percentile.js';

const NOTE =
  'Operations per second, and a request in the median and the p99, of a closed loop unless a rate was asked for. ' +
  'Hybrid: the first shard is in this process, the others are behind gRPC. Factors are over the rate of all gRPC. Above 1, the setting is faster.';

/**
 * The table of work that was measured behind gRPC and in another setting. Empty if there is no other. `network` is the
 * simulated network that gRPC used.
 */
export function settingTable(
  records: readonly CompletedRecord[],
  judge: Judge,
  network?: SimulatedNetwork,
): MarkedTable {
  const families = new Set(records.filter(({ transport }) => isOtherWay(transport)).map(({ family }) => family));
  const ofFamilies = records.filter(({ family }) => families.has(family));
  const clients = new Set(ofFamilies.map(({ side, variant }) => `${side}, ${clientOf(variant)}`));
  /** The side, with the client if the side has several. */
  const sideText = ({ side, variant }: CompletedRecord): string =>
    [...clients].filter((client) => client.startsWith(`${side}, `)).length > 1 ? `${side}, ${clientOf(variant)}` : side;
  const rows = groupBy(ofFamilies, ({ family, workload, side, variant, lane, engine, batch, connections, rate }) =>
    JSON.stringify([family, workload, side, clientOf(variant), lane, engine, batch, connections, rate]),
  ).flatMap(settingsOf);
  return {
    table: tableOf(rows, [
      { title: 'Benchmark', of: ({ grpc }) => grpc.workload },
      { title: 'Side', of: ({ grpc }) => sideText(grpc) },
      { title: '>Batch', of: ({ grpc }) => formatCount(grpc.batch) },
      { title: '>Connections', of: ({ grpc }) => formatCount(grpc.connections) },
      { title: '>All gRPC', of: ({ grpc }) => measured(grpc, grpc, judge), goes: 2 },
      { title: '>Hybrid', of: ({ grpc, hybrid }) => measured(hybrid, grpc, judge), goes: 0 },
      { title: '>Hybrid factor', of: ({ grpc, hybrid }) => wonBy(hybrid, grpc, judge) },
      { title: '>Direct only', of: ({ grpc, direct }) => measured(direct, grpc, judge), goes: 1 },
      { title: '>Direct factor', of: ({ grpc, direct }) => wonBy(direct, grpc, judge) },
    ]),
    notes: rows.length === 0 ? [] : [NOTE, ...(network === undefined ? [] : [`${networkText(network)}.`])],
  };
}

function isOtherWay(transport: string | undefined): boolean {
  return transport === 'hybrid' || transport === 'direct';
}

/** The name of the client, before the setting. */
function clientOf(variant: string): string {
  return variant.split(', ')[0]!;
}

/** The same work in each of the settings. */
interface Settings {
  readonly grpc: CompletedRecord;
  readonly hybrid: CompletedRecord | undefined;
  readonly direct: CompletedRecord | undefined;
}

function settingsOf(records: readonly CompletedRecord[]): Settings[] {
  const over = (transport: string): CompletedRecord | undefined =>
    records.find((record) => record.transport === transport);
  const grpc = over('grpc');
  return grpc === undefined ? [] : [{ grpc, hybrid: over('hybrid'), direct: over('direct') }];
}

function wonBy(record: CompletedRecord | undefined, grpc: CompletedRecord, judge: Judge): string {
  const ratio = record && judge(record, grpc);
  return ratio === undefined ? UNKNOWN : formatFactorInterval(ratio);
}

function measured(record: CompletedRecord | undefined, grpc: CompletedRecord, judge: Judge): string {
  if (record === undefined) return UNKNOWN;
  const { latency } = record;
  const ratio = record === grpc ? 1 : judge(record, grpc)?.ratio;
  const rate = formatShortRate(rateOf(ratio === undefined ? record : atRatio(record, ratio, grpc)));
  if (latency === undefined) return rate;
  return `${rate}, ${percentileText(record, 'p50')} / ${percentileText(record, 'p99')}`;
}
