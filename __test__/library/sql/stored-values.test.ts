import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { connect, type ParameterInput, RowInserter, SqlClient, SqlType, typed } from '../../../src/index.js';
import { startDatabase, type startMysql } from '../../mysql-server.js';
import { lacks } from '../../needs.js';

describe.skipIf(lacks('mysql'))('the values that are stored', () => {
  let server: Awaited<ReturnType<typeof startMysql>>;
  let url: string;
  let client: SqlClient;

  beforeAll(async () => {
    ({ server, url } = await startDatabase());
    client = await SqlClient.connect(url);
  }, 60_000);

  afterAll(async () => {
    await client?.close();
    await server?.stop();
  });

  test('a value is stored as a single insert stores it, whatever the values of the other rows are', async () => {
    await client.query(
      "CREATE TABLE alone (id INT, i INT, b BIT(8), e ENUM('2', '1'), y YEAR, l VARCHAR(40) CHARACTER SET latin1, f FLOAT)",
    );
    const decimal = typed(SqlType.decimal(3, 1), '2.5');
    const lists: Record<string, ParameterInput[]> = {
      i: [2.5, 1, null, 1n << 30n, '2.5', decimal, true],
      b: [5, true, 2.5, Buffer.from('x'), null],
      e: [1, true, '1', 2.0, '2'],
      y: [0, '2024', '0', 69n],
      l: ['é', Buffer.from('x'), 7, new Date(0), 'ü'],
      f: [0.1, 16777217, '0.1', null, typed(SqlType.date(), 1)],
    };
    for (const [column, list] of Object.entries(lists)) {
      const store = async (values: readonly ParameterInput[]): Promise<unknown> => {
        await client.query('DELETE FROM alone');
        await client.insertRows(
          'alone',
          ['id', column],
          values.map((value, id) => [id, value]),
        );
        const read = await client.query(`SELECT HEX(CAST(${column} AS BINARY)) AS v FROM alone ORDER BY id`);
        return read.rows().map(({ v }) => v);
      };
      const alone: unknown[] = [];
      for (const value of list) alone.push(...((await store([value])) as unknown[]));
      expect(await store(list), column).toEqual(alone);
      expect(await store(list.toReversed()), column).toEqual(alone.toReversed());
    }
  });

  test('RowInserter stores texts as they are or refuses them, whichever character set a column has', async () => {
    await client.query('CREATE TABLE latin (l VARCHAR(9) CHARACTER SET latin1, x BLOB)');
    await using engine = await connect(url);
    const table = await engine.describeTable('latin');
    const insert = async (text: string): Promise<number> => {
      const inserter = new RowInserter(engine, table);
      inserter.addRow([text, Buffer.from([0xff, 0xe9])]);
      return inserter.execute();
    };
    expect(await insert('é')).toBe(1);
    await expect(insert('漢')).rejects.toMatchObject({ code: 'BB_ENGINE' });
    const read = await client.query('SELECT l, HEX(l) AS h, HEX(x) AS x FROM latin');
    expect(read.rows()).toEqual([{ l: 'é', h: 'E9', x: 'FFE9' }]);
  });
});
