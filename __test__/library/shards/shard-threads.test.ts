import { spawnSync } from 'node:child_process';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { crossing, type PrivateShards } from '../../../src/crossing-addon.js';
import { ShardClient } from '../../../src/index.js';
import { packedRows } from '../../../src/families/hybrid/data.js';

const INDEX = new URL('../../../dist/index.js', import.meta.url).href;

/** Runs a module in a process of its own with the built package; returns its exit status and its output. */
function runModule(urls: readonly string[], code: string): { readonly status: number | null; readonly output: string } {
  const head = `import { ShardClient } from ${JSON.stringify(INDEX)};\nconst urls = ${JSON.stringify(urls)};\n`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', head + code], {
    encoding: 'utf8',
    timeout: 60_000,
  });
  return { status, output: stdout + stderr };
}

describe('ShardClient and the threads of Node', () => {
  let shards: PrivateShards;
  beforeAll(async () => {
    shards = await crossing.PrivateShards.start(2);
    const client = await ShardClient.connect(shards.urls);
    await client.populate(10_000);
    await client.close();
  });
  afterAll(() => shards.stop());

  test('a call begun when the loop has ended is answered', () => {
    const { status, output } = runModule(
      shards.urls,
      `const client = await ShardClient.connect(urls);
       process.once('beforeExit', () => client.get(8).then((row) => console.log(row.key)));`,
    );
    expect({ status, output }).toEqual({ status: 0, output: '8n\n' });
  });

  test('more than the sockets take is sent when they take it', async () => {
    await using client = await ShardClient.connect(shards.urls);
    const keys = Array.from({ length: 4000 }, (_, key) => key);
    const rows = new Uint8Array(packedRows(keys).buffer);
    for (const id of shards.processIds) process.kill(id, 'SIGSTOP');
    const writing = Promise.all(Array.from({ length: 20 }, () => client.putMany(rows)));
    // The event loop goes on meanwhile.
    await new Promise((resolve) => setTimeout(resolve, 100));
    for (const id of shards.processIds) process.kill(id, 'SIGCONT');
    await writing;
    using read = await client.multiGet(Float64Array.from(keys));
    expect(read.found).toBe(keys.length);
  });
});
