/** The work of one request, by the cell's workload and lane, for each client. */
import { ShardClient, type ShardAggregation } from '../../library/shards/shard-client.js';
import { ShardRow } from '../../library/shards/shard-row.js';
import type { GrpcAggregation, GrpcRow, GrpcShards } from '../../clients/grpc-js.js';
import { BatchReader } from '../../clients/shard-batches.js';
import { httpAddress } from '../requests/http-address.js';
import { type PlannedRequests, operationsOf } from '../requests/grid.js';
import type { Requester } from '../requests/load.js';
import {
  HYBRID_MATRIX,
  type HybridSums,
  type PriceSums,
  ROW_WORDS,
  type RowSums,
  columnsHash,
  rowHash,
} from './data.js';
import { type HybridInput, addAll, addFound } from './input.js';
import { populationOf } from './made-batches.js';
import type { HybridServer } from './servers.js';

/** A thread of a cell, with its own connection to each shard. */
export interface HybridRequester extends Requester {
  close(): Promise<void>;
}

/** The state that the requests of a cell share. */
export interface HybridWork {
  readonly planned: PlannedRequests;
  readonly server: HybridServer;
  readonly input: HybridInput;
  /** The sums of the values read since the sample began. */
  sums(): HybridSums;
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

/** Opens a thread that uses the addon's client or the one to compare with. */
export async function openRequester(work: HybridWork): Promise<HybridRequester> {
  const { planned, server } = work;
  if (planned.cell.side === 'napi') {
    const client = await ShardClient.connect(server.places);
    return { request: napiRequest(work, client), close: () => client.close() };
  }
  // Imported on demand, since loading it takes long.
  const { GrpcShards } = await import('../../clients/grpc-js.js');
  const client = await GrpcShards.connect(server.url.split(',').map(httpAddress));
  return { request: grpcRequest(work, client), close: async () => client.close() };
}

function napiRequest({ planned: { cell }, input, sums }: HybridWork, client: ShardClient): Request {
  const { keys, keyArray, packed, rows } = input;
  const rowSums = sums as () => RowSums;
  const priceSums = sums as () => PriceSums;
  switch (`${cell.workload}/${cell.lane}`) {
    case 'point_lookup/call':
    case 'multi_get/call': {
      const words = new Int32Array(ROW_WORDS);
      const into = new ShardRow(new Uint8Array(words.buffer));
      const ask = async (key: number): Promise<void> => {
        const row = await client.get(key);
        if (row !== null) rowSums().add(1, rowHash(wordsOf(row.bytes), 0));
      };
      return (index) => {
        const row = client.tryGet(keys[index]!, into);
        if (row === undefined) return ask(keys[index]!);
        if (row !== null) rowSums().add(1, rowHash(words, 0));
        return DONE;
      };
    }
    case 'multi_get/batch':
      return async (index) => {
        const { from, to } = operationsOf(cell, index);
        addFound(rowSums(), await client.multiGet(keyArray.subarray(from, to)));
      };
    case 'write/call':
      return (index) => (client.tryPut(rows[index]!) ? DONE : client.put(rows[index]!));
    case 'write/batch':
      return (index) => {
        const { from, to } = operationsOf(cell, index);
        return client.putMany(packed.subarray(from * ROW_WORDS * 4, to * ROW_WORDS * 4));
      };
    case 'populate/call':
      return () => client.populate(input.totalRows, { replace: true });
    case 'scan/call':
      return () => addAll(rowSums(), client);
    case 'aggregate.push_down/call':
    case 'aggregate.pull/call': {
      const place = cell.workload === 'aggregate.pull' ? 'here' : 'shards';
      return async () => {
        const { count, sum, min, max } = await client.aggregate({ ...AGGREGATION, place });
        priceSums().add(count, Number(sum), Number(min ?? Infinity), Number(max ?? -Infinity));
      };
    }
    default:
      throw unknown(cell);
  }
}

function grpcRequest({ planned: { cell }, input, sums }: HybridWork, client: GrpcShards): Request {
  const { keys, packed, rows } = input;
  const rowSums = sums as () => RowSums;
  const priceSums = sums as () => PriceSums;
  const memory = new PackedMemory();
  switch (`${cell.workload}/${cell.lane}`) {
    case 'point_lookup/call':
    case 'multi_get/call':
      return async (index) => {
        const row = await client.get(keys[index]!);
        if (row !== null) rowSums().addPacked(memory.ofRow(row));
      };
    case 'multi_get/batch':
      return async (index) => {
        const { from, to } = operationsOf(cell, index);
        const answers = await client.multiGet(keys.slice(from, to));
        for (const { rows: found } of answers) rowSums().addPacked(memory.of(found));
      };
    case 'write/call': {
      const messages = rows.map(messageOf);
      return (index) => client.put(messages[index]!);
    }
    case 'write/batch':
      return (index) => {
        const { from, to } = operationsOf(cell, index);
        return client.putMany(keys.slice(from, to), packed.subarray(from * ROW_WORDS * 4, to * ROW_WORDS * 4));
      };
    case 'populate/call':
      return () => client.populate((shard) => populationOf(shard, client.shards, input.totalRows));
    case 'scan/call':
    case 'aggregate.pull/call': {
      const isScan = cell.workload === 'scan';
      return async () => {
        const readers = Array.from({ length: client.shards }, () => new BatchReader());
        await client.scan((piece, shard) => {
          const columns = readers[shard]!.add(piece);
          if (columns === undefined) return;
          if (isScan) rowSums().add(columns.keys.length, columnsHash(columns));
          else priceSums().addColumns(columns.quantities, columns.prices);
        });
      };
    }
    case 'aggregate.push_down/call':
      return async () => {
        for (const { count, real_sum: sum, min, max } of await client.aggregate(GRPC_AGGREGATION)) {
          priceSums().add(count, sum, min?.real ?? Infinity, max?.real ?? -Infinity);
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

/** Memory for rows that start anywhere within a message: as words they must begin at multiples of four. */
class PackedMemory {
  #words = new Int32Array(ROW_WORDS);
  #bytes = new Uint8Array(this.#words.buffer);
  readonly #row = new ShardRow();

  /** The words of packed rows, valid until the next call. */
  of(packed: Uint8Array): Int32Array {
    if (packed.byteLength > this.#bytes.byteLength) {
      this.#words = new Int32Array(packed.byteLength / 4);
      this.#bytes = new Uint8Array(this.#words.buffer);
    }
    this.#bytes.set(packed);
    return this.#words.subarray(0, packed.byteLength / 4);
  }

  /** The words of one row, valid until the next call. */
  ofRow({ key, quantity, price, updated_at: updatedAt, payload }: GrpcRow): Int32Array {
    return wordsOf(this.#row.set({ key, quantity, price, updatedAt, payload }).bytes);
  }
}

/** The words of a packed row in memory of its own. */
function wordsOf(bytes: Uint8Array): Int32Array {
  return new Int32Array(bytes.buffer, bytes.byteOffset, ROW_WORDS);
}

function unknown({ workload, lane }: PlannedRequests['cell']): Error {
  return new Error(`the family hybrid has no requests for ${workload} on the lane ${lane}`);
}
