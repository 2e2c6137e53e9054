/** The work of one request, by the cell's workload and lane, for each client. */
import { addon, type KvAsyncCalls, type KvBlockingCalls } from '../../addon.js';
import { KvClient } from '../../library/kv/kv-client.js';
import type { JsKvConnection } from '../../clients/js-kv-client.js';
import { type PlannedRequests, operationsOf } from '../requests/grid.js';
import type { Requester } from '../requests/load.js';
import type { KvSums } from './keys.js';
import { addValues, assertDone, type Keyspace } from './keyspace.js';

/** A connection of a cell. */
export interface KvRequester extends Requester {
  close(): Promise<void>;
}

/** The state that the requests of a cell share. */
export interface KvWork {
  readonly planned: PlannedRequests;
  readonly keyspace: Keyspace;
  /** The sums of the values read since the sample began. */
  sums(): KvSums;
}

type Request = (index: number) => Promise<void>;

/** Opens a connection of the addon's client, or one whose calls cross one by one. */
export async function openNapiRequester(work: KvWork, url: string): Promise<KvRequester> {
  const { lane } = work.planned.cell;
  if (lane === 'call-async' || lane === 'call-blocking') {
    const Calls = lane === 'call-async' ? addon.KvAsyncCalls : addon.KvBlockingCalls;
    const calls = await Calls.open(url);
    return { request: callRequest(work, calls), close: async () => calls.close() };
  }
  const client = await KvClient.connect(url);
  return { request: napiRequest(work, client), close: () => client.close() };
}

function callRequest(
  { planned: { cell }, keyspace: { keys, values }, sums }: KvWork,
  calls: KvAsyncCalls | KvBlockingCalls,
): Request {
  switch (cell.workload) {
    case 'get':
      return async (index) => sums().addText(await calls.get(keys[index]!));
    case 'set':
      return (index) => calls.set(keys[index]!, values[index]!);
    default:
      throw unknown(cell);
  }
}

function napiRequest({ planned: { cell }, keyspace: { keys, values }, sums }: KvWork, client: KvClient): Request {
  switch (`${cell.workload}/${cell.lane}`) {
    case 'get/call':
      return async (index) => sums().addText(await client.getText(keys[index]!));
    case 'set/call':
      return (index) => client.set(keys[index]!, values[index]!);
    case 'get/batch':
      return async (index) => {
        const { from, to } = operationsOf(cell, index);
        const pipeline = client.pipeline();
        for (let key = from; key < to; key += 1) pipeline.get(keys[key]!);
        addValues(sums(), await pipeline.execute());
      };
    case 'set/batch':
      return async (index) => {
        const { from, to } = operationsOf(cell, index);
        const pipeline = client.pipeline();
        for (let key = from; key < to; key += 1) pipeline.set(keys[key]!, values[key]!);
        assertDone(await pipeline.execute());
      };
    case 'mget/batch':
      return async (index) => {
        const { from, to } = operationsOf(cell, index);
        addValues(sums(), await client.mget(keys.slice(from, to)));
      };
    case 'mset/batch':
      return (index) => {
        const { from, to } = operationsOf(cell, index);
        const entries: [string, string][] = [];
        for (let key = from; key < to; key += 1) entries.push([keys[key]!, values[key]!]);
        return client.mset(entries);
      };
    default:
      throw unknown(cell);
  }
}

/** A requester on a connection of a client to compare with. */
export function jsRequester(work: KvWork, connection: JsKvConnection): KvRequester {
  return { request: targetRequest(work, connection), close: () => connection.close() };
}

function targetRequest(
  { planned: { cell }, keyspace: { keys, values }, sums }: KvWork,
  connection: JsKvConnection,
): Request {
  const addAll = (read: readonly (string | null)[]): void => {
    const into = sums();
    for (const value of read) into.addText(value);
  };
  switch (`${cell.workload}/${cell.lane}`) {
    case 'get/call':
      return async (index) => sums().addText(await connection.get(keys[index]!));
    case 'set/call':
      return async (index) => void (await connection.set(keys[index]!, values[index]!));
    case 'get/batch':
      return async (index) => {
        const { from, to } = operationsOf(cell, index);
        addAll(await connection.getMany(keys.slice(from, to)));
      };
    case 'set/batch':
      return async (index) => {
        const { from, to } = operationsOf(cell, index);
        await connection.setMany(keys.slice(from, to), values.slice(from, to));
      };
    case 'mget/batch':
      return async (index) => {
        const { from, to } = operationsOf(cell, index);
        addAll(await connection.mget(keys.slice(from, to)));
      };
    case 'mset/batch':
      return async (index) => {
        const { from, to } = operationsOf(cell, index);
        await connection.mset(keys.slice(from, to), values.slice(from, to));
      };
    default:
      throw unknown(cell);
  }
}

function unknown({ workload, lane }: PlannedRequests['cell']): Error {
  return new Error(`the family kv has no requests for ${workload} on the lane ${lane}`);
}
