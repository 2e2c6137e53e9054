/** The work of one request, by the cell's workload and lane, for each client. */
import { ShardClient, type ShardAggregation } from '../../library/shards/shard-client.js';
import { ShardRow } from '../../library/shards/shard-row.js';
import type { GrpcAggregation, GrpcRow, GrpcShards } from '../../clients/grpc-js.js';
import type { BatchReader as Batches } from '../../clients/shard-batches.js';
import { httpAddress } from '../requests/http-address.js';
import { type PlannedRequests, operationsOf } from '../requests/grid.js';
import type { Requester } from '../requests/load.js';
import { HYBRID_MATRIX, ROW_WORDS } from './data.js';
import { type HybridInput, readAll } from './input.js';
import { type HybridReader, wordsOf } from './reads.js';
import type { HybridServer } from './servers.js';

/** The state that the requests of a cell share. */
export interface HybridShared {
  readonly planned: PlannedRequests;
  readonly server: HybridServer;
  readonly input: HybridInput;
  /** Takes what the requests of the sample, or of the check, read. */
  reader(): HybridReader;
}

type Request = (index: number) => Promise<void>;

/** The promise of work that is done at once, which is awaited all the same. */
const DONE = Promise.resolve();

const AGGREGATION: ShardAggregation = {
  column: 'price',
  filter: { column: 'quantity', comparison: '>=', value: HYBRID_MATRIX.leastQuantity },
};

const GRPC_AGGREGATION: GrpcAggregation = {
  column: 'COLUMN_PRICE',
  filter: {
    column: 'COLUMN_QUANTITY',
    comparison: 'COMPARISON_GREATER_OR_EQUAL',
    value: { integer: HYBRID_MATRIX.leastQuantity },
  },
};

/** Opens a requester with its own connection to each shard, which uses the addon's client or the one to compare with. */
export async function openRequester(work: HybridShared): Promise<Requester> {
  const { planned, server } = work;
  if (planned.cell.side === 'napi') {
    const client = await ShardClient.connect(server.places);
    return { request: napiRequest(work, client), close: () => client.close() };
  }
  // Imported on demand, since loading them takes long, and their packages may not be installed.
  const { GrpcShards } = await import('../../clients/grpc-js.js');
  const { BatchReader } = await import('../../clients/shard-batches.js');
  const client = await GrpcShards.connect(server.url.split(',').map(httpAddress));
  return { request: grpcRequest(work, client, () => new BatchReader()), close: async () => client.close() };
}

function napiRequest({ planned: { cell }, input, reader }: HybridShared, client: ShardClient): Request {
  const { keys, keyArray, packed, rows } = input;
  switch (`${cell.workload}/${cell.lane}`) {
    case 'point_lookup/call':
    case 'multi_get/call': {
      const words = new Int32Array(ROW_WORDS);
      const into = new ShardRow(new Uint8Array(words.buffer));
      const ask = async (key: number): Promise<void> => {
        const row = await client.get(key);
        reader().addRow(key, row && wordsOf(row.bytes));
      };
      return (index) => {
        const key = keys[index]!;
        const row = client.tryGet(key, into);
        if (row === undefined) return ask(key);
        reader().addRow(key, row && words);
        return DONE;
      };
    }
    case 'multi_get/batch':
      return async (index) => {
        const { from, to } = operationsOf(cell, index);
        const asked = keyArray.subarray(from, to);
        reader().addFound(asked, await client.multiGet(asked));
      };
    case 'write/call':
      return (index) => (client.tryPut(rows[index]!) ? DONE : client.put(rows[index]!));
    case 'write/batch':
      return (index) => {
        const { from, to } = operationsOf(cell, index);
        return client.putMany(packed.subarray(from * ROW_WORDS * 4, to * ROW_WORDS * 4));
      };
    case 'populate/call':
      return () => client.populateFrom(input.batches, { replace: true });
    case 'scan/call':
      return () => readAll(reader(), client);
    case 'aggregate.push_down/call':
    case 'aggregate.pull/call': {
      const place = cell.workload === 'aggregate.pull' ? 'here' : 'shards';
      return async () => {
        const { count, sum, min, max } = await client.aggregate({ ...AGGREGATION, place });
        reader().addPrices(count, Number(sum), Number(min ?? Infinity), Number(max ?? -Infinity));
      };
    }
    default:
      throw unknown(cell);
  }
}

function grpcRequest(
  { planned: { cell }, input, reader }: HybridShared,
  client: GrpcShards,
  batches: () => Batches,
): Request {
  const { keys, keyArray, packed, rows } = input;
  switch (`${cell.workload}/${cell.lane}`) {
    case 'point_lookup/call':
    case 'multi_get/call':
      return async (index) => {
        const key = keys[index]!;
        reader().addMessage(key, await client.get(key));
      };
    case 'multi_get/batch':
      return async (index) => {
        const { from, to } = operationsOf(cell, index);
        const answers = await client.multiGet(keyArray.subarray(from, to));
        for (const found of answers) reader().addPacked(found);
      };
    case 'write/call': {
      const messages = rows.map(messageOf);
      return (index) => client.put(messages[index]!);
    }
    case 'write/batch':
      return (index) => {
        const { from, to } = operationsOf(cell, index);
        return client.putMany(keyArray.subarray(from, to), packed.subarray(from * ROW_WORDS * 4, to * ROW_WORDS * 4));
      };
    case 'populate/call':
      return () => client.populate(input.batches);
    case 'scan/call':
    case 'aggregate.pull/call': {
      const isScan = cell.workload === 'scan';
      return async () => {
        const readers = Array.from({ length: client.shards }, batches);
        await client.scan((piece, shard) => {
          const batch = readers[shard]!.add(piece);
          if (batch === undefined) return;
          if (isScan) reader().addBatch(batch);
          else reader().addPricesOf(batch);
        });
      };
    }
    case 'aggregate.push_down/call':
      return async () => {
        for (const { count, real_sum: sum, min, max } of await client.aggregate(GRPC_AGGREGATION)) {
          reader().addPrices(count, sum, min?.real ?? Infinity, max?.real ?? -Infinity);
        }
      };
    default:
      throw unknown(cell);
  }
}

function messageOf(row: ShardRow): GrpcRow {
  const { key, quantity, price, updatedAt, payload } = row;
  return { key: Number(key), quantity, price, updated_at: Number(updatedAt), payload };
}

function unknown({ workload, lane }: PlannedRequests['cell']): Error {
  return new Error(`the family hybrid has no requests for ${workload} on the lane ${lane}`);
}
