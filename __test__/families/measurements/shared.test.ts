import { existsSync } from 'node:fs';
import { describe, expect, it, vi } from 'vitest';

import { measurementsFamily } from '../../../src/families/measurements/family.js';
import { planMeasurements } from '../../../src/families/measurements/plan.js';
import { openTarget } from '../../../src/families/requests/target-server.js';
import { ownDatabase } from '../../../src/families/sql/server.js';
import { connect } from '../../../src/library/engine/connection.js';
import { lacks } from '../../needs.js';
import { checkCell } from './checked-stopwatch.js';

const ROWS = 1000;
const TABLE = `measurements_${ROWS}`;

const cellsOf = (engine: string, engines: Readonly<Record<string, string>> = {}) =>
  planMeasurements({ rows: ROWS, workers: 1, engines }).filter(
    ({ cell, skip }) => cell.engine === engine && cell.workload === 'query.full_scan' && skip === undefined,
  );

/** Measures a cell as a fork of the family does. */
async function asFork(options: Parameters<typeof measurementsFamily.open>[0], cells: ReturnType<typeof cellsOf>) {
  const fork = await measurementsFamily.open(options, cells);
  try {
    await checkCell(fork, cells[0]!);
  } finally {
    await fork.close();
  }
}

async function countIn(uri: string): Promise<unknown> {
  await using connection = await connect(uri);
  const [row] = await connection.executeQuery(`SELECT count(*) AS held FROM ${TABLE}`);
  return Number((row as { held: number | bigint }).held);
}

describe('the tables of a server', () => {
  it.skipIf(lacks('mysql'))(
    'are kept for the next process, loaded again if rows are missing, and dropped at the end',
    async () => {
      const server = await openTarget('mysql', {});
      try {
        const engines = { mysql: server.url };
        const cells = cellsOf('mysql', engines);
        const options = { rows: ROWS, workers: 1, engines };
        const family = await measurementsFamily.open(options, cells);
        const shared = { ...options, ...(await family.shared!()) };
        await asFork(shared, cells);
        const database = await ownDatabase(server.url);
        expect(await countIn(database)).toBe(ROWS);
        await using connection = await connect(database);
        await connection.execute(`DELETE FROM ${TABLE} WHERE id < 10`);
        await asFork(shared, cells);
        expect(await countIn(database)).toBe(ROWS);
        await family.close();
        await expect(countIn(database)).rejects.toThrow(TABLE);
      } finally {
        await server.close();
      }
    },
  );

  it.skipIf(lacks('hyperd'))('are in a file that goes with the run', async () => {
    const cells = cellsOf('hyper');
    const options = { rows: ROWS, workers: 1, engines: {} };
    const family = await measurementsFamily.open(options, cells);
    const changed = await family.shared!();
    expect(changed.shared?.tables).toEqual(['hyper']);
    await asFork({ ...options, ...changed }, cells);
    const uri = changed.engines!['hyper']!;
    expect(await countIn(uri)).toBe(ROWS);
    await family.close();
    expect(existsSync(uri.slice('hyper:'.length))).toBe(false);
  });
});

it.skipIf(lacks('sail'))('a private server is one for all processes of a run, and ends with it', async () => {
  const cells = cellsOf('sail');
  const options = { rows: ROWS, workers: 1, engines: {} };
  const family = await measurementsFamily.open(options, cells);
  const changed = await family.shared!();
  expect(changed.shared?.tables).toEqual(['sail']);
  const uri = changed.engines!['sail']!;
  expect(uri).toMatch(/^sail:\/\/127\.0\.0\.1:\d+$/);
  expect((await family.shared!()).engines).toEqual(changed.engines);
  await asFork({ ...options, ...changed }, cells);
  expect(await countIn(uri)).toBe(ROWS);
  await family.close();
  // The server is stopped in the background.
  await vi.waitFor(() => expect(countIn(uri)).rejects.toThrow(/127\.0\.0\.1/), { timeout: 60_000, interval: 100 });
});

it('tables in memory are not shared', async () => {
  const family = await measurementsFamily.open({ rows: ROWS, workers: 1, engines: {} }, cellsOf('embedded'));
  expect(await family.shared!()).toEqual({ engines: {}, shared: { tables: [] } });
  await family.close();
});

it.skipIf(lacks('sail'))(
  'a private server that goes on with a query that was given up is not usable for later cells',
  async () => {
    const cells = cellsOf('sail');
    const options = { rows: ROWS, workers: 1, engines: {} };
    const family = await measurementsFamily.open(options, cells);
    const uri = (await family.shared!()).engines!['sail']!;
    await measurementsFamily.reach!(options, cells);
    const connection = await connect(uri);
    const endless =
      'SELECT count(*) FROM range(0, 3000000) AS a(i) CROSS JOIN range(0, 3000000) AS b(j) WHERE i * j % 7 = 3';
    await expect(connection.executeQuery(endless, { timeoutMs: 3000 })).rejects.toMatchObject({ code: 'BB_TIMEOUT' });
    await expect(measurementsFamily.reach!(options, cells)).rejects.toMatchObject({ code: 'BB_TIMEOUT' });
    await connection.close();
    await family.close();
    // Without a server there is nothing to reach.
    await measurementsFamily.reach!(options, cells);
  },
  120_000,
);
