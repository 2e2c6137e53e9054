/** The gain of data in this process over data behind gRPC: the same work on the same side, in each of the three settings. */
import { groupBy } from '../compare/cell-groups.js';
import { rateRatio } from '../compare/rate-ratio.js';
import type { CompletedRecord, SimulatedNetwork } from '../records/record.js';
import { rateOf } from '../stats/summary.js';
import { columns, dropping } from './document.js';
import { UNKNOWN, formatCount, formatFactorInterval, formatShortRate } from './format.js';
import type { MarkedTable } from './head-to-head.js';
import { networkText } from './network-text.js';
import { percentileText } from './percentile.js';

const NOTE =
  'Operations a second, and a request in the median and the p99. Hybrid: the first shard is in this process, the others are ' +
  'behind gRPC. Factors are over the rate of all gRPC; above 1, the setting is faster than that.';

/**
 * The table of work that was measured behind gRPC and in another setting; empty if there is no other. `network` is the simulated
 * network that gRPC used.
 */
export function settingTable(records: readonly CompletedRecord[], network?: SimulatedNetwork): MarkedTable {
  const families = new Set(records.filter(({ transport }) => isOtherWay(transport)).map(({ family }) => family));
  const ofFamilies = records.filter(({ family }) => families.has(family));
  const clients = new Set(ofFamilies.map(({ side, variant }) => `${side}, ${clientOf(variant)}`));
  /** The side, with the client where the side has several. */
  const sideText = ({ side, variant }: CompletedRecord): string =>
    [...clients].filter((client) => client.startsWith(`${side}, `)).length > 1 ? `${side}, ${clientOf(variant)}` : side;
  const rows = groupBy(ofFamilies, ({ family, workload, side, variant, lane, engine, batch, threads, rate }) =>
    JSON.stringify([family, workload, side, clientOf(variant), lane, engine, batch, threads, rate]),
  ).flatMap((group) => rowOf(group, sideText));
  return {
    table: {
      columns: dropping(
        columns(
          'Benchmark',
          'Side',
          '>Batch',
          '>Threads',
          '>All gRPC',
          '>Hybrid',
          '>Hybrid factor',
          '>Direct only',
          '>Direct factor',
        ),
        'Hybrid',
        'Direct only',
        'All gRPC',
      ),
      rows,
    },
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

function rowOf(records: readonly CompletedRecord[], sideText: (record: CompletedRecord) => string): string[][] {
  const over = (transport: string): CompletedRecord | undefined =>
    records.find((record) => record.transport === transport);
  const [grpc, hybrid, direct] = [over('grpc'), over('hybrid'), over('direct')];
  if (grpc === undefined) return [];
  const wonBy = (record: CompletedRecord | undefined): string => {
    const ratio = record && rateRatio(record, grpc);
    return ratio === undefined ? UNKNOWN : formatFactorInterval(ratio);
  };
  return [
    [
      grpc.workload,
      sideText(grpc),
      formatCount(grpc.batch),
      formatCount(grpc.threads),
      measured(grpc),
      measured(hybrid),
      wonBy(hybrid),
      measured(direct),
      wonBy(direct),
    ],
  ];
}

function measured(record: CompletedRecord | undefined): string {
  if (record === undefined) return UNKNOWN;
  const { latency } = record;
  const rate = formatShortRate(rateOf(record));
  if (latency === undefined) return rate;
  return `${rate}, ${percentileText(record, 'p50')} / ${percentileText(record, 'p99')}`;
}
