import { spawnSync } from 'node:child_process';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { startRedis } from '../../redis-server.js';
import { lacks } from '../../needs.js';

/** Runs a module in a process of its own with the built package; returns its exit status and its output. */
function runModule(url: string, code: string): { readonly status: number | null; readonly output: string } {
  const index = new URL('../../../dist/index.js', import.meta.url).href;
  const module = `import { KvClient } from ${JSON.stringify(index)};\nconst url = ${JSON.stringify(url)};\n${code}`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', module], {
    encoding: 'utf8',
    timeout: 60_000,
  });
  return { status, output: stdout + stderr };
}

describe.skipIf(lacks('redis'))('KvClient and the threads of Node', () => {
  let server: Awaited<ReturnType<typeof startRedis>>;
  beforeAll(async () => void (server = await startRedis()));
  afterAll(() => server.stop());

  test('an open client does not keep the process alive, a call under way does', () => {
    const { status, output } = runModule(
      server.url,
      `const client = await KvClient.connect(url);
       client.pipeline().command('BLPOP', 'none', '0.3').execute().then((replies) => console.log(replies.value(0)));`,
    );
    expect({ status, output }).toEqual({ status: 0, output: 'null\n' });
  });

  test('a worker ends in the middle of its calls, and others go on', () => {
    const { status, output } = runModule(
      server.url,
      `import { Worker } from 'node:worker_threads';
       const work = \`
         import(\${JSON.stringify(${JSON.stringify(new URL('../../../dist/index.js', import.meta.url).href)})}).then(async ({ KvClient }) => {
           const { parentPort } = await import('node:worker_threads');
           const client = await KvClient.connect(${JSON.stringify(server.url)}, { connections: 4 });
           await client.set('w', '1');
           parentPort.postMessage('ready');
           for (;;) await Promise.all(Array.from({ length: 100 }, () => client.mget(['w', 'x'])));
         });\`;
       const client = await KvClient.connect(url);
       for (let round = 0; round < 10; round += 1) {
         const worker = new Worker(work, { eval: true });
         await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
         await client.set('main', String(round));
         await worker.terminate();
       }
       console.log(await client.getText('main'));`,
    );
    expect({ status, output }).toEqual({ status: 0, output: '9\n' });
  });
});
