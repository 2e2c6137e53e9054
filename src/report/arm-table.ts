/** What data in this process wins over data behind gRPC: the same work on the same side, in each of the three ways. */
import { groupBy } from '../compare/cell-groups.js';
import { rateRatio } from '../compare/rate-ratio.js';
import type { CompletedRecord, SimulatedNetwork } from '../records/record.js';
import { columns } from './document.js';
import { UNKNOWN, formatCount, formatFactorInterval, formatShortRate } from './format.js';
import type { MarkedTable } from './head-to-head.js';
import { networkText } from './network-text.js';

const NOTE = 'Hybrid: the first shard is in this process, the others are behind gRPC. Speed-ups are over all gRPC.';

/** Of work that was measured behind gRPC and in another way, too; empty of any other. `network`: what gRPC went through. */
export function armTable(records: readonly CompletedRecord[], network?: SimulatedNetwork): MarkedTable {
  const rows = groupBy(records, ({ family, workload, side, lane, engine, batch, threads, rate }) =>
    JSON.stringify([family, workload, side, lane, engine, batch, threads, rate]),
  ).flatMap(rowOf);
  return {
    table: {
      columns: columns(
        'Benchmark',
        'Side',
        '>Batch',
        '>Threads',
        '>All gRPC',
        '>Hybrid',
        '>Speed-up',
        '>Direct only',
        '>Speed-up',
      ),
      rows,
    },
    notes: rows.length === 0 ? [] : [NOTE, ...(network === undefined ? [] : [`${networkText(network)}.`])],
  };
}

function rowOf(records: readonly CompletedRecord[]): string[][] {
  const over = (transport: string): CompletedRecord | undefined =>
    records.find((record) => record.transport === transport);
  const [grpc, hybrid, direct] = [over('grpc'), over('hybrid'), over('direct')];
  if (grpc === undefined || (hybrid === undefined && direct === undefined)) return [];
  const rateOf = (record: CompletedRecord | undefined): string =>
    record === undefined ? UNKNOWN : formatShortRate(record.summary.rowsPerSecond);
  const wonBy = (record: CompletedRecord | undefined): string => {
    const ratio = record && rateRatio(record, grpc);
    return ratio === undefined ? UNKNOWN : formatFactorInterval(ratio);
  };
  return [
    [
      grpc.workload,
      grpc.side,
      formatCount(grpc.batch),
      formatCount(grpc.threads),
      rateOf(grpc),
      rateOf(hybrid),
      wonBy(hybrid),
      rateOf(direct),
      wonBy(direct),
    ],
  ];
}
