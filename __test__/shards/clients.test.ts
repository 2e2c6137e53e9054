import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { crossing, type PrivateShards } from '../../src/crossing-addon.js';
import { pythonClients, runPython } from '../python-clients.js';

const CLIENTS = fileURLToPath(new URL('clients.py', import.meta.url));

const python = await pythonClients();

describe('boundary-bench serve shard', () => {
  let shards: PrivateShards;
  beforeAll(async () => void (shards = await crossing.PrivateShards.start(3)));
  afterAll(() => shards.stop());

  it.skipIf('missing' in python)('holds with the clients of Python', async () => {
    const addresses = shards.urls.map((url) => new URL(url).host);
    expect((await runPython(python, CLIENTS, addresses)).slice(1)).toMatchInlineSnapshot(`
      [
        "shards tell what they are",
        "their health is told",
        "rows of pyarrow are taken",
        "scans are streams of arrow",
        "rows are read by their keys",
        "rows are written",
        "sums equal the sums of pyarrow",
        "sums beyond 64 bits hold",
        "errors have codes and shards",
        "populations that are wrong are refused",
        "deadlines and cancellations end calls",
      ]
    `);
  });
});
