/** The answers of a server come back whole: all rows, all results, all values, in the session's own character set. */
import { connect, createServer } from 'node:net';

import { describe, expect, onTestFinished, test } from 'vitest';

import { connect as connectEngine, SqlClient } from '../../../src/index.js';
import { mariadb } from '../../../src/clients/mariadb.js';
import { mysql2 } from '../../../src/clients/mysql2.js';
import { mysqlOfSuite } from '../../mysql-server.js';
import { lacks } from '../../needs.js';
import { greeting, okPacket, packet, PLAIN, startScriptedMysql } from './scripted-mysql.js';
import { errorWith } from '../../error-with.js';
import { listening } from '../../listening.js';

const EXECUTE = 0x17;

/** A proxy in front of a server that can make the server forget a prepared statement. */
async function startForgetful(url: string): Promise<{ readonly url: string; forget(): void; close(): void }> {
  const { hostname, port } = new URL(url);
  /** The newest statement of each connection, and the newest of those that the server has forgotten. */
  const sessions: { newest: number; forgotten: number }[] = [];
  const server = createServer((client) => {
    const session = { newest: 0, forgotten: 0 };
    sessions.push(session);
    const behind = connect(Number(port), hostname);
    client.on('error', () => behind.destroy()).on('close', () => behind.destroy());
    behind.on('error', () => client.destroy()).on('close', () => client.destroy());
    behind.pipe(client);
    client.on('data', (data: Buffer) => {
      // Each request of these tests begins a chunk.
      const bytes = Buffer.from(data);
      for (let at = 0; at + 9 <= bytes.length; at += 4 + bytes.readUIntLE(at, 3)) {
        if (bytes[at + 3] !== 0 || bytes[at + 4] !== EXECUTE) continue;
        const number = bytes.readUInt32LE(at + 5);
        session.newest = Math.max(session.newest, number);
        // A number that the server has not given.
        if (number <= session.forgotten) bytes.writeUInt32LE(0xffff, at + 5);
      }
      behind.write(bytes);
    });
  });
  const own = new URL(url);
  own.host = `127.0.0.1:${await listening(server)}`;
  return {
    url: own.href,
    forget: () => {
      for (const session of sessions) session.forgotten = session.newest;
    },
    close: () => void server.close(),
  };
}

describe.skipIf(lacks('mysql'))('answers of a server', () => {
  const mysql = mysqlOfSuite({ connections: 1 });

  test('requests whose columns differ in type lose no row', async () => {
    await mysql.client.query('CREATE TABLE prices (id INT, price DECIMAL(10,2))');
    await mysql.client.query('INSERT INTO prices VALUES (1,10),(2,20),(3,30)');
    const sql = 'SELECT id, price * ? AS p FROM prices WHERE id = ?';
    const lists = [[1.5, 1], [2, 2], [1.25, 3]]; // prettier-ignore
    const expected = [
      { id: 1, p: 15 },
      { id: 2, p: '40.00' },
      { id: 3, p: 37.5 },
    ];
    const results = await mysql.client.queryMany(sql, lists);
    expect(results.errors).toEqual([]);
    expect(results.rows()).toEqual(expected);
    expect(Array.from(results.cursor(), (row) => row.toObject())).toEqual(expected);
    expect(Array.from(results, (result) => result.rows())).toEqual(expected.map((row) => [row]));
    expect(() => results.chunk()).toThrow(errorWith('BB_SCHEMA_MISMATCH'));
    const run = await mysql.client.run(lists.map((parameters) => ({ sql, parameters })));
    expect(run.rows()).toEqual(expected);
    const values = [[1], [null], ['a'], [2n ** 40n], [2]]; // prettier-ignore
    expect((await mysql.client.queryMany('SELECT ? AS v', values)).rows().map(({ v }) => v)).toEqual([
      1,
      null,
      'a',
      2n ** 40n,
      2,
    ]);
    const returned = await mysql.client.executeBatch('INSERT INTO prices VALUES (?, ?) RETURNING id, price * ? AS p', [
      [10, 1, 2],
      [11, 1.5, 0.5],
    ]);
    expect(returned.rows()).toEqual([
      { id: 10, p: '2.00' },
      { id: 11, p: 0.75 },
    ]);
    for (const run of [mysql.client.execute, mysql.client.query]) {
      for (const sql of [
        'INSERT INTO prices VALUES (20, 1), (21, 1) RETURNING id',
        'DELETE FROM prices WHERE id > 19 RETURNING id',
      ])
        expect((await run.call(mysql.client, sql)).affectedRows).toBe(2);
    }
    expect(returned.affectedRows).toBe(2);
  });

  test('readers of all rows throw if a request failed, and others read the rest', async () => {
    await mysql.client.query('CREATE TABLE failing (id INT PRIMARY KEY)');
    const results = await mysql.client.executeBatch('INSERT INTO failing VALUES (?) RETURNING id', [[1], [1], [2]]);
    expect(results.errors.map(({ index }) => index)).toEqual([1]);
    for (const read of [() => results.rows(), () => results.cursor(), () => results.chunk()])
      expect(read).toThrow('1062');
    expect(results.at(2).rows()).toEqual([{ id: 2 }]);
  });

  test('all results of a procedure come back', async () => {
    await mysql.client.query('CREATE TABLE called (a INT)');
    await mysql.client.query(
      "CREATE PROCEDURE p() BEGIN SELECT 1 AS a; INSERT INTO called VALUES (1),(2); SELECT 2 AS b, 'x' AS c; SELECT 3 AS a; END",
    );
    const expected = [[{ a: 1 }], [{ b: 2, c: 'x' }], [{ a: 3 }]];
    for (let round = 0; round < 3; round += 1) {
      for (const result of [await mysql.client.query('CALL p()'), await mysql.client.execute('CALL p()')]) {
        expect([result, ...result.further].map((each) => each.rows())).toEqual(expected);
        expect(result.further[0]!.columns.map(({ name }) => name)).toEqual(['b', 'c']);
        expect(Array.from(result.further[1]!.cursor(), (row) => row.toObject())).toEqual(expected[2]);
      }
      for (const results of [
        await mysql.client.run([{ sql: 'CALL p()' }, { sql: 'CALL p()' }]),
        await mysql.client.queryMany('CALL p()', [[], []]),
        await mysql.client.executeBatch('CALL p()', [[], []]),
      ]) {
        for (const result of results) expect(result.further.map((each) => each.rows())).toEqual(expected.slice(1));
        expect(results.rows()).toEqual([...expected, ...expected].flat());
      }
    }
    expect((await mysql.client.query('SELECT COUNT(*) AS n FROM called')).rows()).toEqual([{ n: 48n }]);
    await mysql.client.query("CREATE PROCEDURE failing_late() BEGIN SELECT 1 AS a; SIGNAL SQLSTATE '45000'; END");
    await expect(mysql.client.query('CALL failing_late()')).rejects.toMatchObject({ code: 'BB_ENGINE' });
    await expect(mysql.client.execute('CALL failing_late()')).rejects.toMatchObject({ code: 'BB_ENGINE' });
    await mysql.client.ping();
  });

  test('the engine refuses the results of a procedure, and counts the rows of RETURNING', async () => {
    await mysql.client.query('CREATE TABLE counted (a INT)');
    await mysql.client.query('CREATE PROCEDURE q() BEGIN SELECT 1 AS a; SELECT 2 AS b; END');
    await mysql.client.query('CREATE PROCEDURE silent() BEGIN INSERT INTO counted VALUES (1); END');
    await using engine = await connectEngine(mysql.url);
    await expect(engine.execute('CALL q()')).rejects.toMatchObject({ code: 'BB_UNSUPPORTED' });
    expect(await engine.execute('CALL silent()')).toBe(1);
    expect(await engine.execute('INSERT INTO counted VALUES (1), (2) RETURNING a')).toBe(2);
    expect(await engine.execute('DELETE FROM counted RETURNING a')).toBe(3);
  });

  test('values that their types do not have come as the server writes them', async () => {
    await mysql.client.query("SET sql_mode = ''");
    await mysql.client.query(
      'CREATE TABLE odd (d DECIMAL(65,30), b TINYINT(1), z DATE, s DATETIME(3), n DECIMAL(10,2))',
    );
    await mysql.client.query(
      "INSERT INTO odd VALUES (99999999999999999999999999999999999.5, 2, '0000-00-00', '2024-00-15', 1), (-1, 1, '2024-02-29', '2024-02-29 01:02:03.4', NULL)",
    );
    const expected = [
      { d: '99999999999999999999999999999999999.500000000000000000000000000000', b: 2, z: '0000-00-00', s: '2024-00-15 00:00:00.000', n: '1.00' },
      { d: '-1.000000000000000000000000000000', b: 1, z: '2024-02-29', s: '2024-02-29 01:02:03.400', n: null },
    ]; // prettier-ignore
    expect((await mysql.client.query('SELECT * FROM odd ORDER BY d DESC')).rows()).toEqual(expected);
    expect((await mysql.client.execute('SELECT * FROM odd ORDER BY d DESC')).rows()).toEqual(expected);
    const [sum] = (await mysql.client.query('SELECT SUM(d) AS s, CAST(1 AS DECIMAL(50,5)) AS x FROM odd')).rows();
    expect(sum).toEqual({ s: '99999999999999999999999999999999998.500000000000000000000000000000', x: '1.00000' });
    // Rows without such values keep their types.
    const usual = 'SELECT b, z, s FROM odd WHERE b = 1';
    expect((await mysql.client.query(usual)).rows()).toEqual([{ b: true, z: 19_782, s: 1_709_168_523_400_000n }]);
    const options = { dateStrings: true, decimalNumbers: true, bigNumberStrings: true, tinyInt1isBit: false };
    await using like = await SqlClient.connect(mysql.url, { ...options, connections: 1 });
    const sql =
      'SELECT b, z, s, CAST(1.25 AS DECIMAL(9,2)) AS n, COUNT(*) AS c, 18446744073709551615 AS u FROM odd WHERE b = 1';
    const [row] = (await like.query(sql)).rows();
    expect(row).toEqual({
      b: 1,
      z: '2024-02-29',
      s: '2024-02-29 01:02:03.400',
      n: 1.25,
      c: '1',
      u: '18446744073709551615',
    });
    expect((await like.execute(sql)).rows()).toEqual([row]);
    await expect(SqlClient.connect(mysql.url, { dateStrings: 'yes' as unknown as boolean })).rejects.toThrow(
      errorWith('BB_INVALID_ARGUMENT'),
    );
    await using engine = await connectEngine(mysql.url);
    await expect(engine.executeQuery('SELECT z FROM odd')).rejects.toThrow('date-strings=on');
    expect((await engine.executeQuery('SELECT d FROM odd ORDER BY d DESC')).map(({ d }) => d)).toEqual(
      expected.map(({ d }) => d),
    );
    await using strings = await connectEngine(`${mysql.url}?date-strings=on&tiny-int-1-is-bit=off`);
    expect(await strings.executeQuery('SELECT b, z FROM odd ORDER BY b')).toEqual([
      { b: 1, z: '2024-02-29' },
      { b: 2, z: '0000-00-00' },
    ]);
  });

  test('values of less common types come back', async () => {
    const sql =
      "SELECT b'101' AS bit, 0xffffffffffffffff + 0 AS u, ST_GeomFromText('POINT(1 2)') AS g, CAST('{}' AS CHAR) AS j";
    for (const [row] of [(await mysql.client.query(sql)).rows(), (await mysql.client.execute(sql)).rows()]) {
      expect(row).toMatchObject({ u: '18446744073709551615', j: '{}' });
      expect((row!['g'] as Uint8Array).length).toBe(25);
    }
    await mysql.client.query(
      "CREATE TABLE rare (y YEAR, t TIME(1), e ENUM('a','b'), s SET('a','b'), j JSON, b BIT(9), u UUID)",
    );
    await mysql.client.query(
      "INSERT INTO rare VALUES (2024, '-01:02:03.4', 'b', 'a,b', '[1]', 257, '123e4567-e89b-12d3-a456-426655440000')",
    );
    const expected = {
      y: 2024,
      t: '-01:02:03.4',
      e: 'b',
      s: 'a,b',
      j: '[1]',
      b: 257n,
      u: '123e4567-e89b-12d3-a456-426655440000',
    };
    expect((await mysql.client.query('SELECT * FROM rare')).rows()).toEqual([expected]);
    expect((await mysql.client.execute('SELECT * FROM rare')).rows()).toEqual([expected]);
  });

  test('a collation that the server does not have is refused by every client, and nothing is stored in another character set', async () => {
    const other = `${mysql.url}?collation=utf8mb4_0900_ai_ci`;
    await expect(SqlClient.connect(other)).rejects.toMatchObject({ code: 'BB_UNSUPPORTED' });
    await expect(connectEngine(other)).rejects.toMatchObject({ code: 'BB_UNSUPPORTED' });
    for (const lib of [mysql2, mariadb]) {
      await expect(lib.connect(other, undefined)).rejects.toMatchObject({ code: 'BB_UNSUPPORTED' });
    }
    await using binary = await SqlClient.connect(mysql.url, { collation: 'utf8mb4_bin', connections: 1 });
    const asked = 'SELECT @@collation_connection AS c, @@character_set_client AS s';
    expect((await binary.query(asked)).rows()).toEqual([{ c: 'utf8mb4_bin', s: 'utf8mb4' }]);
  });

  test('a server that takes another character set than it is told is told again', async () => {
    // Sessions without the right to skip it begin with this statement.
    await mysql.client.query("CREATE USER plain@'%' IDENTIFIED BY 'p'");
    await mysql.client.query("GRANT ALL ON test.* TO plain@'%'");
    await mysql.client.query("SET GLOBAL init_connect = 'SET NAMES latin1'");
    await mysql.client.query('CREATE TABLE texts (t VARCHAR(20) CHARACTER SET utf8mb4)');
    onTestFinished(async () => void (await mysql.client.query("SET GLOBAL init_connect = ''")));
    const plain = mysql.url.replace(/\/\/[^@]*@/, '//plain:p@');
    await using session = await SqlClient.connect(plain, { connections: 1 });
    await session.execute('INSERT INTO texts VALUES (?)', ['café']);
    await session.query("INSERT INTO texts VALUES ('café')");
    await session.insertRows('texts', ['t'], [['café']]);
    for (const lib of [mysql2, mariadb]) {
      const connection = await lib.connect(plain, undefined);
      await connection.request({ sql: 'INSERT INTO texts VALUES (?)', parameters: ['café'] });
      await connection.close();
    }
    const stored = (await mysql.client.query('SELECT HEX(t) AS h FROM texts')).rows();
    expect(stored).toEqual(Array.from({ length: 5 }, () => ({ h: '636166C3A9' })));
    expect((await session.query('SELECT t FROM texts LIMIT 1')).rows()).toEqual([{ t: 'café' }]);
  });

  test('a statement that the server has forgotten is prepared again, once', async () => {
    const proxy = await startForgetful(mysql.url);
    await using one = await SqlClient.connect(proxy.url, { connections: 1, int64: 'number' });
    await one.query('CREATE TABLE forgotten (a INT)');
    const calls = async (a: number): Promise<unknown[]> => [
      (await one.execute('SELECT ? + 1 AS n', [a])).rows(),
      (await one.queryMany('SELECT ? + 2 AS n', [[a], [a + 1]])).rows(),
      (await one.executeBatch('INSERT INTO forgotten VALUES (?)', [[a], [a]])).affectedRows,
      await one.insertRows('forgotten', ['a'], [[a], [a]]),
    ];
    expect(await calls(1)).toEqual([[{ n: 2 }], [{ n: 3 }, { n: 4 }], 2, 2]);
    proxy.forget();
    expect(await calls(5)).toEqual([[{ n: 6 }], [{ n: 7 }, { n: 8 }], 2, 2]);
    expect(await calls(7)).toEqual([[{ n: 8 }], [{ n: 9 }, { n: 10 }], 2, 2]);
    expect((await mysql.client.query('SELECT COUNT(*) AS n FROM forgotten')).rows()).toEqual([{ n: 12n }]);
    // Requests keep their order: one whose statement is forgotten is not run behind others.
    const mixed = [
      { sql: 'INSERT INTO forgotten VALUES (?)', parameters: [99] },
      { sql: 'SELECT COUNT(*) AS n FROM forgotten' },
    ];
    expect((await one.run(mixed)).at(1).rows()).toEqual([{ n: 13 }]);
    proxy.forget();
    const late = await one.run(mixed);
    expect([late.error(0)?.message, late.at(1).rows()]).toEqual([expect.stringContaining('1243'), [{ n: 13 }]]);
    expect((await one.run(mixed)).at(1).rows()).toEqual([{ n: 14 }]);
    // Reads of several callers, which are sent ahead of each other's answers.
    const read = async (a: number): Promise<unknown> =>
      (await one.execute('SELECT a FROM forgotten WHERE a = ? LIMIT 1', [a])).rows();
    for (let round = 0; round < 4; round += 1) {
      expect(await Promise.all([1, 5, 7, 99, 1, 5].map(read))).toEqual([1, 5, 7, 99, 1, 5].map((a) => [{ a }]));
      if (round < 3) proxy.forget();
    }
    proxy.close();
  });

  test('a statement of the engine that the server has forgotten is prepared again', async () => {
    const proxy = await startForgetful(mysql.url);
    await using engine = await connectEngine(proxy.url);
    const statement = await engine.prepare('SELECT $1 + 1 AS n');
    const query = 'SELECT 7 AS seven';
    const run = async (n: number): Promise<unknown[]> => [
      await statement.executeQuery([n], { int64: 'number' }),
      await engine.executeQuery(query),
    ];
    const expected = (n: number): unknown[] => [[{ n: n + 1 }], [{ seven: 7 }]];
    expect(await run(1)).toEqual(expected(1));
    proxy.forget();
    expect(await run(2)).toEqual(expected(2));
    expect(await run(3)).toEqual(expected(3));
    await statement.close();
    proxy.close();
  });

  test('a server that keeps few prepared statements gets room for the next', async () => {
    await using one = await SqlClient.connect(mysql.url, { connections: 1, int64: 'number' });
    const [row] = (await mysql.client.query("SHOW STATUS LIKE 'Prepared_stmt_count'")).rows();
    await mysql.client.query(`SET GLOBAL max_prepared_stmt_count = ${Number(row!['Value']) + 2}`);
    onTestFinished(async () => void (await mysql.client.query('SET GLOBAL max_prepared_stmt_count = 16382')));
    for (let n = 0; n < 6; n += 1)
      expect((await one.execute(`SELECT ? + ${n} AS n`, [1])).rows()).toEqual([{ n: 1 + n }]);
  });
});

test('a statement that the server forgets again and again is an error, and no more than prepared twice', async () => {
  const heard: string[] = [];
  const unknown = Buffer.concat([
    Buffer.from([0xff, 0xdb, 0x04]),
    Buffer.from('#HY000Unknown prepared statement handler'),
  ]);
  const scripted = await startScriptedMysql(greeting(PLAIN), (said, socket) => {
    const isPrepare = said.startsWith('SELECT');
    heard.push(isPrepare ? 'prepare' : said.length > 4 ? 'execute' : 'close');
    if (isPrepare) socket.write(packet(1, [0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]));
    else if (said.length > 4) socket.write(packet(1, unknown));
  });
  const client = await SqlClient.connect(scripted.url, { connections: 1 });
  await expect(client.execute('SELECT 1')).rejects.toThrow('1243');
  expect(heard.filter((what) => what !== 'close')).toEqual(['prepare', 'execute', 'prepare', 'execute']);
  await client.close();
  scripted.close();
});

test('a session whose server tells another character set is told again, and refused if that has no effect', async () => {
  const heard: string[] = [];
  const row = ['67108864', 'latin1', 'latin1', 'latin1', 'latin1_swedish_ci'];
  const sized = (text: string): Buffer => Buffer.concat([Buffer.from([text.length]), Buffer.from(text)]);
  const columns = row.map((_, at) =>
    packet(
      2 + at,
      Buffer.concat([
        ...['def', '', '', '', 'x', ''].map(sized),
        Buffer.from([12, 45, 0, 255, 0, 0, 0, 253, 0, 0, 0, 0, 0]),
      ]),
    ),
  );
  const settings = [
    packet(1, [row.length]),
    ...columns,
    packet(7, Buffer.concat(row.map(sized))),
    packet(8, [0xfe, 0, 0, 2, 0, 0, 0]),
  ];
  const scripted = await startScriptedMysql(
    greeting(PLAIN),
    (sql, socket) => {
      heard.push(sql);
      socket.write(okPacket(1));
    },
    okPacket,
    Buffer.concat(settings),
  );
  await expect(SqlClient.connect(scripted.url)).rejects.toThrow(errorWith('BB_UNSUPPORTED', 'latin1'));
  expect(heard).toEqual(['SET NAMES utf8mb4 COLLATE utf8mb4_general_ci']);
  scripted.close();
});
