/** Removal, or naming, of what a cell leaves on the user's server if its process is killed. */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, it, onTestFinished, vi } from 'vitest';

import { loadFamilies } from '../../../dist/families/registry.js';
import { openTarget } from '../../../src/families/requests/target-server.js';
import { ownDatabase } from '../../../src/families/sql/server.js';
import { KvClient } from '../../../src/library/kv/kv-client.js';
import { SqlClient } from '../../../src/library/sql/sql-client.js';
import { run } from '../../../dist/runner/run.js';
import { lacks } from '../../needs.js';

vi.setConfig({ testTimeout: 240_000 });

/** Runs cells, and returns how they ended, and the warnings of the run. */
async function measured(
  filters: { readonly family: string; readonly workload: string; readonly lane: string },
  engines: Readonly<Record<string, string>>,
  more: object,
): Promise<{ readonly outcomes: readonly string[]; readonly warnings: readonly string[] }> {
  const warnings: string[] = [];
  const request = {
    filters: {
      family: [filters.family],
      workload: [filters.workload],
      lane: [filters.lane],
      side: ['napi' as const],
    },
    connections: [1],
    directory: join(await mkdtemp(join(tmpdir(), 'boundary-bench-')), 'out'),
    ...more,
  };
  const { run: result } = await run({
    families: await loadFamilies(),
    engines,
    onEvent: (event) => event.type === 'warning' && warnings.push(event.message),
    ...request,
  });
  return { outcomes: [...new Set(result.records.map(({ outcome }) => outcome))], warnings };
}

/** Options with which a cell does not even warm up before it is killed. */
const KILLED = { operations: 2000, rate: 1, batch: [1], timeoutSeconds: 8 };

describe('a cell that is killed', () => {
  it.skipIf(lacks('redis'))('leaves no keys', async () => {
    const server = await openTarget('redis', {});
    onTestFinished(() => server.close());
    const ended = await measured({ family: 'kv', workload: 'get', lane: 'call' }, { redis: server.url }, KILLED);
    expect(ended).toEqual({ outcomes: ['failed'], warnings: [] });
    await using client = await KvClient.connect(server.url);
    expect((await client.pipeline().command('DBSIZE').execute()).value(0)).toBe(0);
  });

  it.skipIf(lacks('mysql'))('leaves no table', async () => {
    const server = await openTarget('mysql', {});
    onTestFinished(() => server.close());
    const url = await ownDatabase(server.url);
    const ended = await measured({ family: 'sql', workload: 'select_pk', lane: 'call' }, { mysql: url }, KILLED);
    expect(ended).toEqual({ outcomes: ['failed'], warnings: [] });
    await using client = await SqlClient.connect(url);
    expect((await client.query('SHOW TABLES')).rows()).toEqual([]);
  });
});

describe('a cell that writes points', () => {
  it('leaves them, and the run says so, if the server can not drop them', async () => {
    const server = await openTarget('ingest', {});
    onTestFinished(() => server.close());
    const few = { operations: 2000, forks: 1, samples: 1, timeBudgetSeconds: 0 };
    const ended = await measured(
      { family: 'ingest', workload: 'soak_columnar', lane: 'batch' },
      { ingest: server.url },
      few,
    );
    expect(ended.outcomes).toEqual(['completed']);
    expect(ended.warnings).toEqual([
      expect.stringMatching(
        /^measurements of the database server whose names begin with bb\w{4} may be left on the server/,
      ),
    ]);
  });
});
