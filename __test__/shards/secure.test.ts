import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { ShardClient } from '../../src/index.js';
import { GrpcShards } from '../../src/clients/grpc-js.js';
import { enginesWithKey } from '../../src/families/requests/target-server.js';
import { ShardServers } from './shard-process.js';
import { failureOf } from '../error-with.js';

const KEY = `${'k'.repeat(16)}.${'s'.repeat(64)}`;
const ROWS = 5000;

const withKey = (url: string, key = KEY): string => url.replace('://', `://:${key}@`);

/** The rows that a scan finds, after all other calls. */
async function scannedRows(client: ShardClient): Promise<number> {
  await client.populate(ROWS, { replace: true });
  expect((await client.describe()).reduce((sum, { rows }) => sum + rows, 0)).toBe(ROWS);
  expect((await client.get(17))?.key).toBe(17n);
  using found = await client.multiGet(Int32Array.from([1, 2, 3, -1]));
  expect(found.found).toBe(3);
  expect((await client.aggregate({ column: 'quantity' })).count).toBe(ROWS);
  let scanned = 0;
  for await (const batch of client.scan()) scanned += batch.rowCount;
  await client.close();
  return scanned;
}

/** The key of a row, after a scan. */
async function foundKey(client: GrpcShards): Promise<number | undefined> {
  let pieces = 0;
  await client.scan(() => (pieces += 1));
  expect(pieces).toBeGreaterThan(0);
  const row = await client.get(17);
  client.close();
  return row?.key;
}

describe('shards that ask for a key', () => {
  let servers: ShardServers;
  beforeAll(async () => void (servers = await ShardServers.start(2, { words: ['--api-key', KEY] })), 60_000);
  afterAll(() => servers[Symbol.asyncDispose]());

  it('give rows to clients that have it, by an option or in the addresses', async () => {
    expect(await scannedRows(await ShardClient.connect(servers.urls, { apiKey: KEY }))).toBe(ROWS);
    expect(await scannedRows(await ShardClient.connect(servers.urls.map((url) => withKey(url))))).toBe(ROWS);
    expect(await foundKey(await GrpcShards.connect(servers.urls.map((url) => ({ url, secret: KEY }))))).toBe(17);
  });

  it('refuse all others, whose errors do not tell the key', async () => {
    const wrong = KEY.replaceAll('s', 't');
    for (const refused of [
      () => ShardClient.connect(servers.urls),
      () => ShardClient.connect(servers.urls, { apiKey: wrong }),
      () => ShardClient.connect(servers.urls.map((url) => withKey(url, wrong))),
    ]) {
      const error = await failureOf(refused());
      expect(error).toMatchObject({ code: 'BB_CONNECTION' });
      expect(String(error)).toMatch(/X-API-KEY is missing|bad API key/);
      expect(String(error)).not.toContain('tttt');
    }
    const bare = await GrpcShards.connect(servers.urls);
    await expect(bare.get(17)).rejects.toMatchObject({ code: 'BB_CONNECTION' });
    bare.close();
  });

  it('get the key of the run in each of their addresses', () => {
    const options = { rows: 0, workers: 1, engines: { shards: servers.urls.join(',') }, apiKeys: { shards: KEY } };
    expect(enginesWithKey('shards', options)['shards']).toBe(servers.urls.map((one) => withKey(one)).join(','));
  });
});

describe.each(['loopback', 'authority'])('shards behind TLS, with the certificate %s', (name) => {
  const file = (name: string): string => fileURLToPath(new URL(`../fixtures/tls/${name}`, import.meta.url));
  const [cert, key] = [file(`${name}.pem`), file(`${name}.key`)];
  let servers: ShardServers;
  beforeAll(
    async () => void (servers = await ShardServers.start(2, { words: ['--tls-cert', cert, '--tls-key', key] })),
    60_000,
  );
  afterAll(() => servers[Symbol.asyncDispose]());

  it('are reached by clients that trust their certificate', async () => {
    expect(servers.urls.every((url) => url.startsWith('https://'))).toBe(true);
    expect(await scannedRows(await ShardClient.connect(servers.urls, { tlsCa: cert }))).toBe(ROWS);
    const named = servers.urls.map((url) => `${url}/?tls-ca=${encodeURIComponent(cert)}`);
    expect(await scannedRows(await ShardClient.connect(named))).toBe(ROWS);
    expect(
      await foundKey(await GrpcShards.connect(servers.urls.map((url) => ({ url, secret: '', tlsCa: cert })))),
    ).toBe(17);
    await expect(ShardClient.connect(servers.urls)).rejects.toMatchObject({ code: 'BB_CONNECTION' });
  });
});
