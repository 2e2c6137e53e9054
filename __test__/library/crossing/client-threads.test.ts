/** Clients in processes and in threads of their own, by the built package. */
import { spawnSync } from 'node:child_process';

import { describe, expect, test } from 'vitest';

import { mysqlOfSuite } from '../../mysql-server.js';
import { lacks } from '../../needs.js';
import { redisOfSuite } from '../../redis-server.js';

const INDEX = JSON.stringify(new URL('../../../dist/index.js', import.meta.url).href);

/** Runs a module in a process of its own, and expects it to end by itself with this output. */
function expectOutput(expected: string, name: 'KvClient' | 'SqlClient', url: string, code: string): void {
  const module = `import { ${name} } from ${INDEX};\nconst url = ${JSON.stringify(url)};\n${code}`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', module], {
    encoding: 'utf8',
    timeout: 60_000,
  });
  expect({ status, output: stdout + stderr }).toEqual({ status: 0, output: expected });
}

describe.skipIf(lacks('redis'))('KvClient and the threads of Node', () => {
  const redis = redisOfSuite();

  test('an open client does not keep the process alive, a call under way does', () => {
    expectOutput(
      'null\n',
      'KvClient',
      redis.url,
      `const client = await KvClient.connect(url);
       client.pipeline().command('BLPOP', 'none', '0.3').execute().then((replies) => console.log(replies.value(0)));`,
    );
  });
});

describe.skipIf(lacks('mysql'))('SqlClient and the threads of Node', () => {
  const mysql = mysqlOfSuite();

  test('an open client does not keep the process alive, a call under way does', () => {
    expectOutput(
      '0\n',
      'SqlClient',
      mysql.url,
      `const client = await SqlClient.connect(url);
       client.query('SELECT SLEEP(0.3) AS s').then((result) => console.log(result.rows()[0].s));`,
    );
  }, 60_000);

  test('a worker ends in the middle of its calls, and others go on', () => {
    expectOutput(
      '9\n',
      'SqlClient',
      mysql.url,
      `import { Worker } from 'node:worker_threads';
       const work = \`
         import(${INDEX}).then(async ({ SqlClient }) => {
           const { parentPort } = await import('node:worker_threads');
           const client = await SqlClient.connect(\${JSON.stringify(url)}, { connections: 4 });
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
  }, 120_000);
});
