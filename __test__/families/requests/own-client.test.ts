import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';

import type { Run, RunRecord } from '../../../src/records/record.js';
import { builtMain, spawnCli } from '../../cli/spawn-cli.js';
import { lacks } from '../../needs.js';

const EXAMPLE = fileURLToPath(new URL('../../../examples/kv-client.mjs', import.meta.url));

const folder = mkdtempSync(join(tmpdir(), 'boundary-bench-client-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.skipIf(lacks('redis'))('a client of the user in the family kv', () => {
  /** The cells of a client, with each workload. */
  async function measure(client: string, name: string, ...filters: string[]): Promise<RunRecord[]> {
    const sizes = ['--threads', '2', '--batch', '1,16', '--operations', '200'];
    const once = ['--forks', '1', '--samples', '1', '--time-budget', '0', '--quiet', '--out', name];
    const words = ['run', '--family', 'kv', '--side', 'js,napi', '--client', client, ...sizes, ...once, ...filters];
    await spawnCli(words, { cwd: folder, script: builtMain });
    const { records } = JSON.parse(readFileSync(join(folder, name, 'run.json'), 'utf8')) as Run;
    return records.filter(({ variant }) => variant.endsWith('-client'));
  }

  it('does the work of each workload, and is verified as others are', async () => {
    const records = await measure(EXAMPLE, 'right');
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
    const [get] = await measure(`napi:${wrong}`, 'wrong', '--workload', 'get', '--lane', 'call');
    expect(get).toMatchObject({ side: 'napi', outcome: 'failed', error: { code: 'BB_CHECKSUM_MISMATCH' } });
    writeFileSync(join(folder, 'no-client.mjs'), 'export const a = 1;');
    const [failed] = await measure('no-client.mjs', 'none', '--workload', 'get', '--lane', 'call');
    expect(failed).toMatchObject({ outcome: 'failed', error: { code: 'BB_CLIENT' } });
  });
});
