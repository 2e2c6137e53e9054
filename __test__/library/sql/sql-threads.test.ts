import { spawnSync } from 'node:child_process';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { startMysql } from '../../mysql-server.js';
import { lacks } from '../../needs.js';

const INDEX = new URL('../../../dist/index.js', import.meta.url).href;

/** Runs a module in a process of its own with the built package; returns its exit status and its output. */
function runModule(url: string, code: string): { readonly status: number | null; readonly output: string } {
  const module = `import { SqlClient } from ${JSON.stringify(INDEX)};\nconst url = ${JSON.stringify(url)};\n${code}`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', module], {
    encoding: 'utf8',
    timeout: 60_000,
  });
  return { status, output: stdout + stderr };
}

describe.skipIf(lacks('mysql'))('SqlClient and the threads of Node', () => {
  let server: Awaited<ReturnType<typeof startMysql>>;
  beforeAll(async () => void (server = await startMysql()), 60_000);
  afterAll(() => server?.stop());

  test('an open client does not keep the process alive, a call under way does', () => {
    const { status, output } = runModule(
      server.url,
      `const client = await SqlClient.connect(url);
       client.query('SELECT SLEEP(0.3) AS s').then((result) => console.log(result.rows()[0].s));`,
    );
    expect({ status, output }).toEqual({ status: 0, output: '0\n' });
  }, 60_000);

  test('a worker ends in the middle of its calls, and others go on', () => {
    const { status, output } = runModule(
      server.url,
      `import { Worker } from 'node:worker_threads';
       const work = \`
         import(${JSON.stringify(INDEX)}).then(async ({ SqlClient }) => {
           const { parentPort } = await import('node:worker_threads');
           const client = await SqlClient.connect(${JSON.stringify(server.url)}, { connections: 4 });
           await client.ping();
           parentPort.postMessage('ready');
           for (;;) await Promise.all(Array.from({ length: 20 }, (_, n) => client.execute('SELECT ?, SLEEP(0.001)', [n])));
         });\`;
       const client = await SqlClient.connect(url, { int64: 'number' });
       for (let round = 0; round < 10; round += 1) {
         const worker = new Worker(work, { eval: true });
         await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
         await client.ping();
         await worker.terminate();
       }
       console.log((await client.query('SELECT 9 AS n')).rows()[0].n);`,
    );
    expect({ status, output }).toEqual({ status: 0, output: '9\n' });
  }, 120_000);
});
