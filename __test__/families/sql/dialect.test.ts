/** The family on a server that has a part of the dialect of MySQL. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { type BoundaryError, connect, RowInserter, SqlClient, SqlType, TableDefinition } from '../../../src/index.js';
import { mariadb } from '../../../src/clients/mariadb.js';
import { mysql2 } from '../../../src/clients/mysql2.js';
import { sqlFamily } from '../../../src/families/sql/family.js';
import type { PlannedRequests } from '../../../src/families/requests/grid.js';
import { type PartialMysql, startPartialMysql } from '../../library/sql/partial-mysql.js';
import { startMysql } from '../../mysql-server.js';
import { lacks } from '../../needs.js';
import { sampleCells, stopwatch } from '../sampled-cells.js';

/** Workloads with every kind of parameter and table of the family; a table with rows takes long to fill where it is not loaded whole. */
const WORKLOADS: ReadonlySet<string> = new Set(['insert', 'insert_multi_values', 'select_pk', 'oltp_point_select']);

/** The workloads of the crate `mysql_async` whose statements have integers in their conditions. */
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

  const optionsOf = (url: string) => ({
    rows: 0,
    workers: 1,
    engines: { mysql: url },
    operations: 24,
    threads: [2],
    batch: [1],
  });

  test('runs every statement of every side, and the run says what was done otherwise', async () => {
    const options = optionsOf(server.url);
    const cells = (sqlFamily.plan(options) as readonly PlannedRequests[]).filter(
      ({ cell, askedBy, skip }) => WORKLOADS.has(cell.workload) && askedBy === undefined && skip === undefined,
    );
    expect(new Set(cells.map(({ cell, client }) => client ?? cell.side))).toEqual(
      new Set(['rust', 'mysql_async', 'napi', 'mysql2', 'mariadb']),
    );
    const isWrong = (planned: (typeof cells)[number]): boolean =>
      planned.client === 'mysql_async' && WITH_KEYS.test(planned.cell.workload);
    const family = await sqlFamily.open(options, cells);
    expect(await family.adaptations!()).toEqual({
      mysql: [expect.stringContaining('DELETE FROM'), expect.stringContaining('TypedParameter.INT')],
    });
    // What the server answers wrongly, which the crate has no way around: wrong sums, or an error that follows from a wrong answer.
    for (const planned of cells.filter(isWrong)) {
      const cell = await family.openCell(planned);
      const outcome = await cell.sample(stopwatch, new AbortController().signal).then(
        ({ rows, sums }) => ({ rows, sums }),
        (thrown: unknown) => (thrown as BoundaryError).code,
      );
      expect(outcome, planned.cell.id).not.toEqual({ rows: cell.expected.rows, sums: cell.expected.sums });
      expect(['BB_ENGINE', 'object'], planned.cell.id).toContain(typeof outcome === 'object' ? 'object' : outcome);
      await cell.close();
    }
    await sampleCells(
      family,
      cells.filter((planned) => !isWrong(planned)),
    );
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
      code: 'BB_ENGINE',
    });
    await expect(SqlClient.connect(`${server.url}?collation=latin1_bin`)).rejects.toMatchObject({
      code: 'BB_INVALID_ARGUMENT',
    });
    expect([...server.collations].toSorted()).toEqual([224, 45, 46]);
  });

  test('the engine of rows stores there, and finds rows by prepared statements', async () => {
    await using connection = await connect(server.url);
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
