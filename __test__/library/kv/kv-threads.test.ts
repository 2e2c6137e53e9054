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
});
