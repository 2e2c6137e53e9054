import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

import { kvFamily } from '../../src/families/kv/family.js';
import { measurementsFamily } from '../../src/families/measurements/family.js';
import { restFamily } from '../../src/families/rest/family.js';
import { userClientVersion } from '../../src/families/user-client.js';
import type { Family, PlannedCell } from '../../src/families/workload.js';
import type { Run, RunRecord } from '../../src/records/record.js';
import type { RunRequest } from '../../src/runner/run-config.js';
import { run } from '../../src/runner/run.js';
import { builtMain, spawnCli } from '../cli/spawn-cli.js';
import { lacks } from '../needs.js';
import { folderOfSuite } from '../temporary-folder.js';

const exampleOf = (name: string): string => fileURLToPath(new URL(`../../examples/${name}`, import.meta.url));
const EXAMPLE = exampleOf('kv-client.mjs');

/** The sizes of the families of requests. */
const REQUESTS = { connections: [2], batch: [1, 16], operations: 200 };

const folder = folderOfSuite();

/** The cells of a user's client, measured by one small sample. */
async function measure(family: string, client: string, name: string, ...filters: string[]): Promise<RunRecord[]> {
  const sizes = family === 'measurements' ? [] : ['--connections', '2', '--batch', '1,16', '--operations', '200'];
  const once = ['--forks', '1', '--samples', '1', '--time-budget', '0', '--quiet', '--out', name];
  const side = client.startsWith('napi:') ? 'napi' : 'js';
  const words = ['run', '--family', family, '--side', side, '--client', client, ...sizes, ...once, ...filters];
  await spawnCli(words, { cwd: folder, script: builtMain });
  const { records } = JSON.parse(readFileSync(join(folder, name, 'run.json'), 'utf8')) as Run;
  return records.filter(({ variant }) => variant.endsWith('-client'));
}

/** The same, of all cells of the client and no others. */
async function measureOwn(family: Family, options: Partial<RunRequest>): Promise<readonly RunRecord[]> {
  const isOwn = ({ cell }: PlannedCell): boolean => cell.variant.endsWith('-client');
  // The processes of cells load the built family.
  const module = new URL(`../../dist/families/${family.name}/family.js`, import.meta.url).href;
  const { run: finished } = await run({
    families: [{ ...family, module, plan: (given) => family.plan(given).filter(isOwn) }],
    forks: 1,
    samples: 1,
    timeBudgetSeconds: 0,
    directory: join(folder, `own-${family.name}`),
    ...options,
  });
  return finished.records;
}

const outcomes = (records: readonly RunRecord[]): string[] =>
  records.map(({ id, outcome }) => `${id} ${outcome}`).toSorted();

it('a client has the version of the package that its file is in', () => {
  const at = join(folder, 'driver', 'bench');
  mkdirSync(at, { recursive: true });
  writeFileSync(join(folder, 'driver', 'package.json'), '{ "version": "1.2.0" }');
  writeFileSync(join(at, 'package.json'), '{ "type": "module" }');
  expect(userClientVersion({ name: 'mine', file: join(at, 'mine.mjs') })).toEqual({ mine: '1.2.0' });
});

it('an engine with a method that no lane calls is refused: its name may be misspelt', async () => {
  const misspelt = join(folder, 'misspelt-client.mjs');
  writeFileSync(
    misspelt,
    'export default { connect: () => ({ createTable() {}, insertColums() {}, queryColumns() {} }) };',
  );
  const [first] = await measure('measurements', misspelt, 'misspelt', '--workload', 'insert.bulk', '--quick');
  expect(first).toMatchObject({
    outcome: 'failed',
    error: {
      code: 'BB_CLIENT',
      message: expect.stringContaining('has the unknown method insertColums. Known: createTable'),
    },
  });
});

describe.skipIf(lacks('redis'))('a client of the user in the kv family', () => {
  it('does the work of each workload, and is verified as others are', async () => {
    const records = await measureOwn(kvFamily, { client: `js:${EXAMPLE}`, ...REQUESTS });
    expect(outcomes(records)).toEqual([
      'kv/get/batch/js/redis/kv-client/c2/b16 completed',
      'kv/get/call/js/redis/kv-client/c2/b1 completed',
      'kv/mget/batch/js/redis/kv-client/c2/b1 completed',
      'kv/mget/batch/js/redis/kv-client/c2/b16 completed',
      'kv/mset/batch/js/redis/kv-client/c2/b1 completed',
      'kv/mset/batch/js/redis/kv-client/c2/b16 completed',
      'kv/set/batch/js/redis/kv-client/c2/b16 completed',
      'kv/set/call/js/redis/kv-client/c2/b1 completed',
    ]);
  });

  it('fails if it reads something else, and if a module has none', async () => {
    const wrong = join(folder, 'wrong-client.mjs');
    writeFileSync(
      wrong,
      `import client from ${JSON.stringify(EXAMPLE)};
       export default {
         connect: async (url) => ({ ...(await client.connect(url)), get: async () => '0000000000000001' }),
       };`,
    );
    const [get] = await measure('kv', `napi:${wrong}`, 'wrong', '--workload', 'get', '--lane', 'call');
    expect(get).toMatchObject({ side: 'napi', outcome: 'failed', error: { code: 'BB_CHECKSUM_MISMATCH' } });
    writeFileSync(join(folder, 'no-client.mjs'), 'export const a = 1;');
    const [failed] = await measure('kv', 'no-client.mjs', 'none', '--workload', 'get', '--lane', 'call');
    expect(failed).toMatchObject({ outcome: 'failed', error: { code: 'BB_CLIENT' } });
  });
});

describe('an engine of the user in the measurements family', () => {
  const rows = ['--rows', '3000'];

  it('does the work of each lane that it has, and is verified as others are', async () => {
    const client = `napi:${exampleOf('polars-client.mjs')}`;
    const records = await measureOwn(measurementsFamily, { client, rows: 3000 });
    const queries = ['query.full_scan', 'query.filtered', 'query.aggregation'].flatMap((workload) =>
      ['objects', 'columnar'].map((lane) => `${workload}/${lane}`),
    );
    const idOf = (cell: string): string => `measurements/${cell}/napi/embedded/polars-client/async/w1`;
    expect(outcomes(records)).toEqual(
      [
        `${idOf('insert.bulk/row')} skipped`,
        ...['insert.bulk/columns', ...queries].map((cell) => `${idOf(cell)} completed`),
      ].toSorted(),
    );
    const skipped = records.find(({ outcome }) => outcome === 'skipped');
    expect(skipped).toMatchObject({ reason: 'polars-client has no insertRows' });
  });

  it.each([
    ['loses a row', 'queryObjects: () => rows.slice(1)', 'BB_CHECKSUM_MISMATCH'],
    ['returns no typed arrays', 'queryColumns: () => [{ id: [1] }]', 'BB_CLIENT'],
  ])('fails if it %s', async (_, query, code) => {
    const wrong = join(folder, 'rows-client.mjs');
    writeFileSync(
      wrong,
      `export default {
         connect() {
           let rows = [];
           return {
             createTable() { rows = []; },
             dropTable() {},
             insertRows: () => ({
               add: (batch) => rows.push(...batch.map(([id, sensor_id, value, timestamp]) => ({ id, sensor_id, value, timestamp }))),
               finish() {},
             }),
             ${query},
             close() {},
           };
         },
       };`,
    );
    const filters = ['--workload', 'query.full_scan', '--lane', 'objects,columnar', ...rows];
    const records = await measure('measurements', wrong, `wrong-${code}`, ...filters);
    expect(records.find(({ outcome }) => outcome === 'failed')).toMatchObject({ error: { code } });
  });
});

describe('a client of the user in the rest family', () => {
  it('does the reads that need no setting of ours', async () => {
    const records = await measureOwn(restFamily, {
      client: `js:${exampleOf('rest-client.mjs')}`,
      filters: { workload: ['*pkread*'] },
      ...REQUESTS,
    });
    const cells = ['pkread', 'pkread.binary', 'pkread.many_columns'].flatMap((workload) => [
      `rest/${workload}/batch/js/rest/rest-client/c2/b16 completed`,
      `rest/${workload}/call/js/rest/rest-client/c2/b1 completed`,
      `rest/batch${workload}/batch/js/rest/rest-client/c2/b1 completed`,
      `rest/batch${workload}/batch/js/rest/rest-client/c2/b16 completed`,
    ]);
    expect(outcomes(records)).toEqual(cells.toSorted());
  });

  it('fails if it reads something else', async () => {
    const wrong = join(folder, 'wrong-client.mjs');
    writeFileSync(
      wrong,
      `export default {
         connect: async () => ({ post: async () => ({ status: 200, text: '{"data":{"col0":"b"}}' }), close: async () => {} }),
       };`,
    );
    const [read] = await measure('rest', wrong, 'rest-wrong', '--workload', 'pkread', '--lane', 'call');
    expect(read).toMatchObject({ outcome: 'failed', error: { code: 'BB_CHECKSUM_MISMATCH' } });
  });
});
