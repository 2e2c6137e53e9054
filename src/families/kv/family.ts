import { itemsOf } from '../../records/record.js';
import type { JsKvClient } from '../../clients/js-kv-client.js';
import type { OpenCell } from '../workload.js';
import { JsClients } from '../requests/clients.js';
import { defineRequestFamily } from '../requests/family.js';
import { CLIENT_OPTIONS } from '../requests/options.js';
import type { PlannedRequests } from '../requests/grid.js';
import type { Requester } from '../requests/load.js';
import { openRequestCell } from '../requests/load-cell.js';
import type { TargetServer } from '../requests/target-server.js';
import { expectedOf, KvCheck, type KvReader, KvSums, KV_MATRIX } from './keys.js';
import { Keyspace } from './keyspace.js';
import { type KvShared, openNapiRequester, jsRequester } from './requesters.js';

const CLIENTS = new JsClients<JsKvClient>('kv', {
  ioredis: { packageName: 'ioredis', load: async () => (await import('../../clients/ioredis.js')).ioredis },
  'node-redis': {
    packageName: '@redis/client',
    load: async () => (await import('../../clients/node-redis.js')).nodeRedis,
  },
  'valkey-glide': {
    packageName: '@valkey/valkey-glide',
    load: async () => (await import('../../clients/valkey-glide.js')).valkeyGlide,
  },
});

/** Keys and values over the Redis wire: one at a time, pipelined, and many in one command. */
export const kvFamily = defineRequestFamily({
  name: 'kv',
  module: import.meta.url,
  hasParts: true,
  server: 'redis',
  otherServers: ['redis-cluster'],
  matrix: KV_MATRIX,
  packagesOf: CLIENTS.packagesOf,
  options: CLIENT_OPTIONS,
  expected: ({ cell }) => expectedOf(itemsOf(cell)),
  openCell,
  versions: CLIENTS.versions,
});

async function openCell(planned: PlannedRequests, server: TargetServer): Promise<OpenCell> {
  const { cell } = planned;
  const command = cell.workload.toUpperCase();
  const keyspace = await Keyspace.open(server.url, server.newPrefix(), itemsOf(cell), command);
  let sums = new KvSums();
  let reader: KvReader = sums;
  const work: KvShared = { planned, keyspace, reader: () => reader };
  const writes = cell.workload === 'set' || cell.workload === 'mset';
  return openRequestCell(planned, server, {
    openRequester: () => openRequester(work, server.url),
    expected: expectedOf(itemsOf(cell)),
    prepare: async (signal) => {
      reader = sums = new KvSums();
      if (writes) await keyspace.blank(signal);
    },
    checksum: async (signal) => (writes ? await keyspace.read(new KvSums(), signal) : sums).checksum(),
    verify: async (send, signal) => {
      const check = new KvCheck(keyspace.values);
      reader = check;
      await send();
      if (writes) await keyspace.read(check, signal);
      check.finish();
    },
    close: () => keyspace.close(),
  });
}

async function openRequester(work: KvShared, url: string): Promise<Requester> {
  const { cell, clientModule, setting } = work.planned;
  if (cell.side === 'napi' && clientModule === undefined) return openNapiRequester(work, url);
  return jsRequester(work, await (await CLIENTS.of(work.planned)).connect(url, setting));
}
