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

  test('an open client does not keep the process alive, a call under way does', () => {
    const { status, output } = runModule(
      shards.urls,
      `const client = await ShardClient.connect(urls);
       client.get(7).then((row) => console.log(row.key));`,
    );
    expect({ status, output }).toEqual({ status: 0, output: '7n\n' });
  });

  test('a call begun when the loop has ended is answered', () => {
    const { status, output } = runModule(
      shards.urls,
      `const client = await ShardClient.connect(urls);
       process.once('beforeExit', () => client.get(8).then((row) => console.log(row.key)));`,
    );
    expect({ status, output }).toEqual({ status: 0, output: '8n\n' });
  });

  test('a worker ends in the middle of its calls, and others go on', () => {
    const work = `
      import(${JSON.stringify(INDEX)}).then(async ({ ShardClient }) => {
        const { parentPort } = await import('node:worker_threads');
        const client = await ShardClient.connect(${JSON.stringify(shards.urls)}, { connections: 2 });
        parentPort.postMessage('ready');
        const keys = Float64Array.from({ length: 100 }, (_, key) => key);
        for (;;) await Promise.all([...keys].map((key) => client.get(key)).concat(client.multiGet(keys)));
      });`;
    const { status, output } = runModule(
      shards.urls,
      `import { Worker } from 'node:worker_threads';
       const client = await ShardClient.connect(urls);
       for (let round = 0; round < 10; round += 1) {
         const worker = new Worker(${JSON.stringify(work)}, { eval: true });
         await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
         await client.get(round);
         await worker.terminate();
       }
       console.log((await client.get(9)).key);`,
    );
    expect({ status, output }).toEqual({ status: 0, output: '9n\n' });
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
