/** The work of one request, by the cell's workload and lane, for each client. */
import { crossing, type KvCalls } from '../../crossing-addon.js';
import { KvClient } from '../../library/kv/kv-client.js';
import type { KvValues } from '../../library/kv/kv-values.js';
import type { JsKvConnection } from '../../clients/js-kv-client.js';
import { type PlannedRequests, operationsOf } from '../requests/grid.js';
import type { Requester } from '../requests/load.js';
import type { KvReader } from './keys.js';
import { addValues, assertDone, type Keyspace } from './keyspace.js';

/** The state that the requests of a cell share. */
export interface KvShared {
  readonly planned: PlannedRequests;
  readonly keyspace: Keyspace;
  /** The reader of the values that are read: the sums of a sample, or a check. */
  reader(): KvReader;
}

type Request = (index: number) => Promise<void>;

/** Opens a connection of the addon's client, or one whose calls cross one by one. */
export async function openNapiRequester(work: KvShared, url: string): Promise<Requester> {
  const { lane } = work.planned.cell;
  if (lane === 'call-async' || lane === 'call-blocking') {
    const calls = await crossing.KvCalls.open(url, lane === 'call-blocking');
    return { request: callRequest(work, calls), close: async () => calls.close() };
  }
  const client = await KvClient.connect(url);
  return { request: napiRequest(work, client), close: () => client.close() };
}

function callRequest({ planned: { cell }, keyspace: { keys, values }, reader }: KvShared, calls: KvCalls): Request {
  switch (cell.workload) {
    case 'get':
      return async (index) => reader().addText(await calls.get(keys[index]!), index);
    case 'set':
      return (index) => calls.set(keys[index]!, values[index]!);
    default:
      throw unknown(cell);
  }
}

function napiRequest(
  { planned: { cell, setting }, keyspace: { keys, values }, reader }: KvShared,
  client: KvClient,
): Request {
  const add =
    setting === 'strings'
      ? (read: KvValues, from: number): void => addTexts(reader(), read.toArray(), from)
      : (read: KvValues, from: number): void => addValues(reader(), read, from);
  switch (`${cell.workload}/${cell.lane}`) {
    case 'get/call':
      return async (index) => reader().addText(await client.getText(keys[index]!), index);
    case 'set/call':
      return (index) => client.set(keys[index]!, values[index]!);
    case 'get/batch':
      return async (index) => {
        const { from, to } = operationsOf(cell, index);
        const pipeline = client.pipeline();
        for (let key = from; key < to; key += 1) pipeline.get(keys[key]!);
        add(await pipeline.execute(), from);
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
        add(await client.mget(keys.slice(from, to)), from);
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
export function jsRequester(work: KvShared, connection: JsKvConnection): Requester {
  return { request: targetRequest(work, connection), close: () => connection.close() };
}

function targetRequest(
  { planned: { cell }, keyspace: { keys, values }, reader }: KvShared,
  connection: JsKvConnection,
): Request {
  switch (`${cell.workload}/${cell.lane}`) {
    case 'get/call':
      return async (index) => reader().addText(await connection.get(keys[index]!), index);
    case 'set/call':
      return async (index) => void (await connection.set(keys[index]!, values[index]!));
    case 'get/batch':
      return async (index) => {
        const { from, to } = operationsOf(cell, index);
        addTexts(reader(), await connection.getMany(keys.slice(from, to)), from);
      };
    case 'set/batch':
      return async (index) => {
        const { from, to } = operationsOf(cell, index);
        await connection.setMany(keys.slice(from, to), values.slice(from, to));
      };
    case 'mget/batch':
      return async (index) => {
        const { from, to } = operationsOf(cell, index);
        addTexts(reader(), await connection.mget(keys.slice(from, to)), from);
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

/** Hands values to `reader`. The first value belongs to the key `from`. */
function addTexts(reader: KvReader, values: readonly (string | null)[], from: number): void {
  for (let at = 0; at < values.length; at += 1) reader.addText(values[at]!, from + at);
}

function unknown({ workload, lane }: PlannedRequests['cell']): Error {
  return new Error(`the family kv has no requests for ${workload} on the lane ${lane}`);
}
