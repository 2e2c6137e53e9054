import { itemsOf } from '../../records/record.js';
import { ShardClient } from '../../library/shards/shard-client.js';
import { ROW_BYTES } from '../../library/shards/shard-row.js';
import { optionalVersion } from '../../clients/optional-package.js';
import { defineRequestFamily } from '../requests/family.js';
import type { PlannedRequests, RequestLane } from '../requests/grid.js';
import { openRequestCell } from '../requests/load-cell.js';
import type { TargetServer } from '../requests/target-server.js';
import { valuesOf } from '../option.js';
import type { RequestValues } from '../requests/options.js';
import type { Family, OpenCell } from '../workload.js';
import { type Setting, HYBRID_MATRIX, expectedOf, isOfAll } from './data.js';
import { HybridInput } from './input.js';
import { HYBRID_OPTIONS, type HybridValues, totalRows } from './options.js';
import { type HybridShared, openRequester } from './requesters.js';
import { type HybridReader, HybridCheck, HybridSums } from './reads.js';
import { type HybridServer, openHybridServer } from './servers.js';

/** A cell with the options of the shards, which all cells of a run share. */
interface PlannedHybrid extends PlannedRequests {
  readonly values: HybridValues;
}

const family = defineRequestFamily<PlannedHybrid>({
  name: 'hybrid',
  module: import.meta.url,
  server: 'shards',
  matrix: HYBRID_MATRIX,
  options: HYBRID_OPTIONS,
  openServer: (engines, cells, shared) => openHybridServer(engines, cells, cells[0]!.values, shared),
  reach: async (url) => {
    await using client = await ShardClient.connect(url.split(','));
    await client.describe();
  },
  serverOf: async ({ setting }, server) => (server as HybridServer).inSetting(setting as Setting),
  expected: ({ cell, values }) => expectedOf(cell.workload, itemsOf(cell), totalRows(values)),
  packagesOf,
  nativeOptions: ({ values }, server) => ({ totalRows: totalRows(values), stores: (server as HybridServer).stores }),
  openCell,
  versions: (cells): Record<string, string> =>
    cells.some(({ cell }) => cell.side === 'js') ? { 'grpc-js': optionalVersion('@grpc/grpc-js') } : {},
});

/** The packages of the client in JavaScript, and the one that makes the rows of populations. */
function packagesOf({ side }: RequestLane, workload: string): readonly string[] {
  if (side === 'js') return ['@grpc/grpc-js', '@grpc/proto-loader', '@uwdata/flechette'];
  return side === 'napi' && workload === 'populate' ? ['@uwdata/flechette'] : [];
}

/** Rows in shards that are in this process, behind gRPC, or partly each: what either costs from Rust and from Node. */
export const hybridFamily: Family<RequestValues & HybridValues> = {
  ...family,
  plan: (options) => {
    const values = valuesOf(HYBRID_OPTIONS, options);
    return family.plan(options).map((planned) => withSetting({ ...(planned as PlannedRequests), values }, options));
  },
};

/** The cell with its setting as its transport, and with the operations of its sample or, for work on all rows, the rows. */
function withSetting(planned: PlannedHybrid, { operations }: RequestValues): PlannedHybrid {
  const { setting, values } = planned;
  const { operations: usual, ...cell } = planned.cell;
  const times = setting === 'direct' && operations === undefined ? HYBRID_MATRIX.directTimesOperations : 1;
  const count = isOfAll(cell.workload) ? totalRows(values) : usual! * times;
  const skip =
    planned.skip ??
    (cell.workload === 'populate' && values.skipPopulate ? 'the rows that are there are to be used' : undefined);
  return {
    ...planned,
    cell: {
      ...cell,
      transport: setting!,
      ...(isOfAll(cell.workload) ? { rows: count, requests: 1 } : { operations: count }),
      ...(cell.workload === 'aggregate.push_down' ? {} : { bytes: count * ROW_BYTES }),
    },
    ...(skip === undefined ? {} : { skip }),
    // One process at a time opens a store on the disk.
    ...(setting !== 'grpc' && values.dataDir !== undefined && { isExclusive: true }),
  };
}

async function openCell(planned: PlannedHybrid, target: TargetServer): Promise<OpenCell> {
  const { cell } = planned;
  const server = target as HybridServer;
  const total = totalRows(planned.values);
  const input = await HybridInput.make(cell, total, server.places.length);
  let sums = new HybridSums(cell.workload);
  let reader: HybridReader = sums;
  const work: HybridShared = { planned, server, input, reader: () => reader };
  // The client for untimed work.
  const side = await ShardClient.connect(server.places);
  const writes = HYBRID_MATRIX.workloads[cell.workload]?.direction === 'in';
  return openRequestCell(planned, server, {
    openRequester: () => openRequester(work),
    expected: expectedOf(cell.workload, itemsOf(cell), total),
    prepare: async (signal) => {
      reader = sums = new HybridSums(cell.workload);
      await input.blank(side, signal);
    },
    checksum: async (signal) => {
      if (writes) await input.readBack(sums, side, signal);
      return sums.checksum();
    },
    verify: async (send, signal) => {
      const check = new HybridCheck(cell.workload, total);
      reader = check;
      await send();
      if (writes) await input.readBack(check, side, signal);
      check.finish(itemsOf(cell));
    },
    close: () => side.close(),
  });
}
