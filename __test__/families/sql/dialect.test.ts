/** The family on a server that has a part of the dialect of MySQL. */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { connect, RowInserter, SqlClient, SqlType, TableDefinition } from '../../../src/index.js';
import { mariadb } from '../../../src/clients/mariadb.js';
import { mysql2 } from '../../../src/clients/mysql2.js';
import { sqlFamily } from '../../../src/families/sql/family.js';
import type { PlannedRequests } from '../../../src/families/requests/grid.js';
import type { OpenCell } from '../../../src/families/workload.js';
import { run, type RunResult } from '../../../src/runner/run.js';
import type { CellFilters } from '../../../src/runner/filters.js';
import { type PartialMysql, startPartialMysql } from '../../library/sql/partial-mysql.js';
import { inDatabase, startMysql } from '../../mysql-server.js';
import { lacks } from '../../needs.js';
import { REQUESTS, openCells, sampleCells, signal, stopwatch } from '../sampled-cells.js';
import { errorWith } from '../../error-with.js';

/** Workloads with every kind of parameter and table of the family. */
const WORKLOADS: ReadonlySet<string> = new Set(['insert', 'insert_multi_values', 'select_pk', 'oltp_point_select']);

/** Workloads that fill a table before each sample, which takes long if it is not loaded whole: one cell per side of each. */
const REFILLED: ReadonlySet<string> = new Set(['update_where', 'oltp_read_write']);

/** The workloads whose prepared statements have integers in their conditions. */
const WITH_KEYS = /^(select_pk|oltp_point_select)$/;

describe.skipIf(lacks('mysql'))('a server with a part of the dialect', () => {
  let real: Awaited<ReturnType<typeof startMysql>>;
  let server: PartialMysql;
  beforeAll(async () => {
    real = await startMysql();
    server = await startPartialMysql(real.url);
  });
  afterAll(async () => {
    server.close();
    await real.stop();
  });

  const optionsOf = (url: string, connections = 1) => {
    return { ...REQUESTS, engines: { mysql: url }, operations: 24, connections: [connections] };
  };

  const cellsOf = (options: ReturnType<typeof optionsOf>): PlannedRequests[] =>
    (sqlFamily.plan(options) as readonly PlannedRequests[]).filter(
      ({ cell, client, setting, askedBy = [], skip }) =>
        (WORKLOADS.has(cell.workload) ||
          (REFILLED.has(cell.workload) && setting === undefined && (client === undefined || client === 'mysql2'))) &&
        !askedBy.includes('lane') &&
        skip === undefined,
    );

  test('runs every statement of every side, and the run says what was done otherwise', async () => {
    const options = optionsOf(server.url);
    const cells = cellsOf(options);
    expect(new Set(cells.map(({ cell, client }) => client ?? cell.side))).toEqual(
      new Set(['rust', 'mysql_async', 'napi', 'mysql2', 'mariadb']),
    );
    const isUnserved = ({ client, cell }: PlannedRequests): boolean =>
      client === 'mysql_async' && WITH_KEYS.test(cell.workload);
    const family = await sqlFamily.open(options, cells);
    expect(await family.adaptations!()).toEqual({
      mysql: [expect.stringContaining('DELETE FROM'), expect.stringContaining('TypedParameter.INT')],
    });
    for (const planned of cells.filter(isUnserved)) {
      await expect(family.openCell(planned), planned.cell.id).rejects.toThrow(
        errorWith('BB_UNSUPPORTED', 'the crate mysql_async sends integers as BIGINT alone'),
      );
    }
    await sampleCells(
      family,
      cells.filter((planned) => !isUnserved(planned)),
    );
    expect(server.leftOpen()).toBe(0);
  }, 300_000);

  test('cells of two connections with transactions are skipped if the server has one transaction', async () => {
    const options = optionsOf(server.url, 2);
    const cells = cellsOf(options).filter(({ client }) => client !== 'mysql_async');
    const family = await sqlFamily.open(options, cells);
    const isUnserved = ({ cell }: PlannedRequests): boolean => ['insert', 'oltp_read_write'].includes(cell.workload);
    const unserved = cells.filter(isUnserved);
    expect(unserved.map(({ cell }) => cell.side)).toEqual(expect.arrayContaining(['rust', 'napi', 'js']));
    for (const planned of unserved) {
      await expect(family.openCell(planned), planned.cell.id).rejects.toThrow(
        errorWith('BB_UNSUPPORTED', '--connections 1'),
      );
    }
    await sampleCells(
      family,
      cells.filter(({ cell }) => cell.workload === 'update_where'),
    );
  }, 300_000);

  test('a cell that fails in a transaction ends it before its connection is closed', async () => {
    const options = { ...optionsOf(server.url), batch: [1, 8] };
    const cells = (sqlFamily.plan(options) as readonly PlannedRequests[]).filter(
      ({ cell, client, setting, askedBy = [], skip }) =>
        ['insert', 'oltp_write_only'].includes(cell.workload) &&
        client !== 'mysql_async' &&
        setting === undefined &&
        !askedBy.includes('lane') &&
        skip === undefined,
    );
    expect(cells.length).toBeGreaterThan(10);
    await using admin = await SqlClient.connect(inDatabase(real.url, 'boundary_bench'));
    const left = server.leftOpen();
    const failing = async (cell: OpenCell, id: string, planned: PlannedRequests): Promise<void> => {
      const [named] = (await admin.query('SHOW TABLES')).rows();
      const table = Object.values(named!)[0] as string;
      // The third statement of a transaction, or row of a sample, is refused.
      const refused = planned.cell.workload === 'insert' ? 'INSERT' : 'DELETE';
      await admin.query(
        `CREATE TRIGGER refused BEFORE ${refused} ON ${table} FOR EACH ROW ` +
          `IF ${refused === 'INSERT' ? 'NEW.id = 3' : "USER() <> ''"} THEN SIGNAL SQLSTATE '45000'; END IF`,
      );
      await expect(cell.sample(stopwatch, signal), id).rejects.toMatchObject({});
    };
    await openCells(await sqlFamily.open(options, cells), cells, failing, async (id) =>
      expect(server.leftOpen() - left, id).toBe(0),
    );
  }, 300_000);

  test('a table that is not as it was filled is filled again before its cell begins', async () => {
    const keeping = await startPartialMysql(real.url, { keepsRow: true });
    const options = optionsOf(keeping.url);
    const cells = (sqlFamily.plan(options) as readonly PlannedRequests[]).filter(
      ({ cell, client, askedBy = [] }) =>
        ['count', 'update_range'].includes(cell.workload) && client !== 'mysql_async' && !askedBy.includes('lane'),
    );
    expect(new Set(cells.map(({ cell }) => cell.side))).toEqual(new Set(['rust', 'napi', 'js']));
    await sampleCells(await sqlFamily.open(options, cells), cells);
    keeping.close();
  }, 300_000);

  test('a run completes, in processes of their own', async () => {
    const { run: finished } = await runIn(server.url, { workload: ['select_pk', 'insert'], lane: ['call'] });
    const outcomes = new Map(finished.records.map((record) => [record.id, record]));
    for (const [id, record] of outcomes) {
      const isUnserved = id.includes('/mysql_async/') && record.workload === 'select_pk';
      const error = record.outcome === 'failed' ? record.error : undefined;
      expect({ id, error, outcome: record.outcome }).toEqual({ id, outcome: isUnserved ? 'skipped' : 'completed' });
    }
    expect(outcomes.has('sql/select_pk/call/js/mysql/mysql2/c1/b1')).toBe(true);
  }, 300_000);

  test('a server that ends is told once, and the rest of the cells is skipped; a resumed run measures them', async () => {
    const mortal = await startPartialMysql(real.url, { endsAt: /^SELECT SUM\(k\)/ });
    const warnings: string[] = [];
    const filters = { workload: ['oltp_read_only'], side: ['napi', 'js'], lane: ['call'] };
    const { run: finished, directory } = await runIn(mortal.url, filters, { onWarning: (text) => warnings.push(text) });
    const [first, ...rest] = finished.records;
    expect(first).toMatchObject({ outcome: 'failed', error: { message: expect.stringContaining('closed') } });
    expect(rest.length).toBeGreaterThan(2);
    for (const record of rest) {
      const reason = expect.stringMatching(
        new RegExp(`^the server of mysql has not been usable since ${first!.id} failed`),
      );
      expect(record).toMatchObject({ outcome: 'skipped', serverEnded: true, reason });
    }
    expect(warnings).toEqual([
      expect.stringContaining('the rest of its cells is skipped'),
      expect.stringContaining('may be left on the server of mysql'),
    ]);
    await using reborn = await startPartialMysql(real.url, { port: Number(new URL(mortal.url).port) });
    const { run: resumed } = await runIn(reborn.url, filters, { directory, resume: true });
    expect(resumed.records.map(({ outcome }) => outcome)).toEqual(finished.records.map(() => 'completed'));
  }, 300_000);

  test('a server with the whole dialect is asked for nothing else', async () => {
    const options = optionsOf(real.url);
    const family = await sqlFamily.open(options, sqlFamily.plan(options).slice(0, 1));
    expect(await family.adaptations!()).toEqual({});
    await family.close();
  });

  test('the collation of the login is an option of every client, and one that the server lacks is told', async () => {
    const clients = {
      SqlClient: async (url: string) => (await SqlClient.connect(url, { connections: 1 })).close(),
      mysql2: async (url: string) => (await mysql2.connect(url, undefined)).close(),
      mariadb: async (url: string) => (await mariadb.connect(url, undefined)).close(),
    };
    for (const [name, open] of Object.entries(clients)) {
      await open(server.url);
      await open(`${server.url}?collation=utf8mb4_bin`);
      await expect(open(`${server.url}?collation=utf8mb4_unicode_ci`), name).rejects.toThrow('character_set id: 224');
    }
    await expect(SqlClient.connect(server.url, { collation: 'utf8mb4_unicode_ci' })).rejects.toMatchObject({
      code: 'BB_CONNECTION',
    });
    await expect(SqlClient.connect(`${server.url}?collation=latin1_bin`)).rejects.toMatchObject({
      code: 'BB_INVALID_ARGUMENT',
    });
    expect([...server.collations].toSorted()).toEqual([224, 45, 46]);
  });

  test('the engine of rows stores there, and finds rows by prepared statements', async () => {
    await using connection = await connect(inDatabase(server.url, 'boundary_bench'));
    const table = new TableDefinition('bb_dialect', [
      { name: 'id', type: SqlType.int(), nullable: false },
      { name: 'value', type: SqlType.double() },
    ]);
    await connection.dropTable(table.name);
    await connection.createTable(table);
    const inserter = new RowInserter(connection, table);
    for (let id = 0; id < 100; id += 1) inserter.addRow([id, id / 2]);
    await inserter.execute();
    await using statement = await connection.prepare('SELECT value FROM bb_dialect WHERE id = $1');
    const found = await statement.executeQuery([42]);
    expect(found.map(({ value }) => value)).toEqual([21]);
    await connection.dropTable(table.name);
  });
});

/** A short run of the family on a server, at one connection. */
async function runIn(
  url: string,
  filters: CellFilters,
  { directory, resume, onWarning }: { directory?: string; resume?: true; onWarning?: (text: string) => void } = {},
): Promise<RunResult> {
  return run({
    // The forks are of Node, which has the family as it was built.
    families: [{ ...sqlFamily, module: new URL('../../../dist/families/sql/family.js', import.meta.url).href }],
    engines: { mysql: url },
    filters,
    directory: directory ?? join(await mkdtemp(join(tmpdir(), 'boundary-bench-')), 'out'),
    resume,
    operations: 24,
    connections: [1],
    batch: [1],
    forks: 1,
    samples: 1,
    timeBudgetSeconds: 0,
    onEvent: (event) => {
      if (event.type === 'warning') onWarning?.(event.message);
    },
  });
}
