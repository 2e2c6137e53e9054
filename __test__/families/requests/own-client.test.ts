import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';

import type { RunRecord } from '../../../src/records/record.js';
import { run } from '../../../src/run.js';
import { lacks } from '../../needs.js';

const EXAMPLE = fileURLToPath(new URL('../../../examples/kv-client.mjs', import.meta.url));

const folder = mkdtempSync(join(tmpdir(), 'boundary-bench-client-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.skipIf(lacks('redis'))('a client of the user in the family kv', () => {
  const measure = async (client: string, name: string): Promise<readonly RunRecord[]> => {
    const result = await run({
      directory: join(folder, name),
      filters: { family: ['kv'], lane: ['call', 'batch'], side: ['js', 'napi'] },
      client,
      threads: [2],
      batch: [1, 16],
      operations: 200,
      forks: 1,
      samples: 1,
      timeBudgetSeconds: 0,
    });
    return result.run.records.filter(({ variant }) => variant.includes('client'));
  };

  it('does the work of each workload, and is verified as others are', async () => {
    const records = await measure(`js:${EXAMPLE}`, 'right');
    expect(records.map(({ id, outcome }) => `${id} ${outcome}`).toSorted()).toEqual([
      'kv/get/batch/js/redis/kv-client/t2/b16 completed',
      'kv/get/call/js/redis/kv-client/t2/b1 completed',
      'kv/mget/batch/js/redis/kv-client/t2/b1 completed',
      'kv/mget/batch/js/redis/kv-client/t2/b16 completed',
      'kv/mset/batch/js/redis/kv-client/t2/b1 completed',
      'kv/mset/batch/js/redis/kv-client/t2/b16 completed',
      'kv/set/batch/js/redis/kv-client/t2/b16 completed',
      'kv/set/call/js/redis/kv-client/t2/b1 completed',
    ]);
  });

  it('fails where it reads something else, and where a module has none', async () => {
    const wrong = join(folder, 'wrong-client.mjs');
    writeFileSync(
      wrong,
      `import client from ${JSON.stringify(EXAMPLE)};
       export default {
         connect: async (url) => ({ ...(await client.connect(url)), get: async () => '0000000000000001' }),
       };`,
    );
    const records = await measure(`napi:${wrong}`, 'wrong');
    const get = records.find(({ id }) => id.startsWith('kv/get/call/napi/'));
    expect(get).toMatchObject({ outcome: 'failed', error: { code: 'BB_CHECKSUM_MISMATCH' } });
    const none = join(folder, 'no-client.mjs');
    writeFileSync(none, 'export const a = 1;');
    const failed = await measure(`js:${none}`, 'none');
    expect(new Set(failed.map((record) => record.outcome === 'failed' && record.error.code))).toEqual(
      new Set(['BB_CLIENT']),
    );
  });
});
