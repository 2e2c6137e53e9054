/** The work of one request, by the cell's workload and lane, for each client. */
import { crossing } from '../../crossing-addon.js';
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

/** The requests of a client for the keys from one index up to another one, by their workloads and lanes. */
type Requests = Readonly<Record<string, (from: number, to: number) => Promise<unknown>>>;

function requesterOf({ planned: { cell } }: KvShared, requests: Requests, close: Requester['close']): Requester {
  const isCall = cell.lane !== 'batch';
  const request = requests[`${cell.workload}/${isCall ? 'call' : 'batch'}`];
  if (request === undefined) {
    throw new Error(`the family kv has no requests for ${cell.workload} on the lane ${cell.lane}`);
  }
  // Chosen once per cell, not per request.
  const ofIndex = isCall
    ? (index: number) => request(index, index + 1)
    : (index: number) => {
        const { from, to } = operationsOf(cell, index);
        return request(from, to);
      };
  return { request: ofIndex as Requester['request'], close };
}

/** Opens a connection of the addon's client, or one whose calls cross one by one. */
export async function openNapiRequester(work: KvShared, url: string): Promise<Requester> {
  const { planned, keyspace, reader } = work;
  const { keys, values } = keyspace;
  const { lane } = planned.cell;
  if (lane === 'call-async' || lane === 'call-blocking') {
    const calls = await crossing.KvCalls.open(url, lane === 'call-blocking');
    const requests: Requests = {
      'get/call': async (key) => reader().addText(await calls.get(keys[key]!), key),
      'set/call': (key) => calls.set(keys[key]!, values[key]!),
    };
    return requesterOf(work, requests, async () => calls.close());
  }
  const client = await KvClient.connect(url);
  const add =
    planned.setting === 'strings'
      ? (read: KvValues, from: number): void => addTexts(reader(), read.toArray(), from)
      : (read: KvValues, from: number): void => addValues(reader(), read, from);
  const requests: Requests = {
    'get/call': async (key) => reader().addText(await client.getText(keys[key]!), key),
    'set/call': (key) => client.set(keys[key]!, values[key]!),
    async 'get/batch'(from, to) {
      const pipeline = client.pipeline();
      for (let key = from; key < to; key += 1) pipeline.get(keys[key]!);
      add(await pipeline.execute(), from);
    },
    async 'set/batch'(from, to) {
      const pipeline = client.pipeline();
      for (let key = from; key < to; key += 1) pipeline.set(keys[key]!, values[key]!);
      assertDone(await pipeline.execute());
    },
    'mget/batch': async (from, to) => add(await client.mget(keys.slice(from, to)), from),
    'mset/batch'(from, to) {
      const entries: [string, string][] = [];
      for (let key = from; key < to; key += 1) entries.push([keys[key]!, values[key]!]);
      return client.mset(entries);
    },
  };
  return requesterOf(work, requests, () => client.close());
}

/** A requester on a connection of a client to compare with. */
export function jsRequester(work: KvShared, connection: JsKvConnection): Requester {
  const { keyspace, reader } = work;
  const { keys, values } = keyspace;
  const requests: Requests = {
    'get/call': async (key) => reader().addText(await connection.get(keys[key]!), key),
    'set/call': async (key) => connection.set(keys[key]!, values[key]!),
    'get/batch': async (from, to) => addTexts(reader(), await connection.getMany(keys.slice(from, to)), from),
    'set/batch': async (from, to) => connection.setMany(keys.slice(from, to), values.slice(from, to)),
    'mget/batch': async (from, to) => addTexts(reader(), await connection.mget(keys.slice(from, to)), from),
    'mset/batch': async (from, to) => connection.mset(keys.slice(from, to), values.slice(from, to)),
  };
  return requesterOf(work, requests, () => connection.close());
}

/** Hands values to `reader`. The first value belongs to the key `from`. */
function addTexts(reader: KvReader, values: readonly (string | null)[], from: number): void {
  for (let at = 0; at < values.length; at += 1) reader.addText(values[at]!, from + at);
}
