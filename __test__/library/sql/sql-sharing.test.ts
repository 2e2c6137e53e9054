/** Plain reads of several callers share a connection, and each is sent ahead of the answers to those before it. */
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';

import { SqlClient } from '../../../src/index.js';
import { mysqlOfSuite } from '../../mysql-server.js';
import { lacks } from '../../needs.js';

const READ = 'SELECT id, k FROM numbers WHERE id = ?';
const ROWS = 200;
const KEYS = Array.from({ length: 60 }, (_, index) => (index * 7) % ROWS);

describe.skipIf(lacks('mysql'))('plain reads', () => {
  const admin = mysqlOfSuite({ connections: 1, int64: 'number' });
  let client: SqlClient;

  beforeAll(async () => {
    await admin.client.query('CREATE TABLE numbers (id INT PRIMARY KEY, k INT)');
    await admin.client.query('CREATE TABLE others (id INT)');
    const rows = Array.from({ length: ROWS }, (_, id) => [id, id * id]);
    await admin.client.insertRows('numbers', ['id', 'k'], rows);
  });
  beforeEach(async () => {
    client = await SqlClient.connect(admin.url, { connections: 4, int64: 'number' });
    // A statement is sent ahead once it is prepared and was fast.
    await client.execute(READ, [1]);
  });
  afterEach(() => client.close());

  const read = async (id: number): Promise<unknown> => (await client.execute(READ, [id])).rows();
  const rowsOf = (ids: readonly number[]): unknown[] => ids.map((id) => [{ id, k: id * id }]);
  const connectionsSoFar = async (): Promise<unknown> =>
    (await admin.client.query("SHOW STATUS LIKE 'Connections'")).rows();
  /** The connections that run a read now. */
  const reading = async (): Promise<Record<string, unknown>[]> =>
    (
      await admin.client.query(
        "SELECT id FROM information_schema.processlist WHERE info LIKE 'SELECT id, k FROM numbers%'",
      )
    ).rows();
  const failures = (calls: readonly Promise<unknown>[]): Promise<unknown[]> =>
    Promise.all(calls.map((call) => call.then(String, ({ code }: { code: string }) => code)));

  test('of many callers take one connection, and each gets its own rows', async () => {
    const before = await connectionsSoFar();
    expect(await Promise.all(KEYS.map(read))).toEqual(rowsOf(KEYS));
    expect(await connectionsSoFar()).toEqual(before);
    const text = async (id: number): Promise<unknown> =>
      (await client.query(`SELECT id, k FROM numbers WHERE id = ${id}`)).rows();
    for (let round = 0; round < 3; round += 1) expect(await Promise.all(KEYS.map(text))).toEqual(rowsOf(KEYS));
  });

  test('that had to wait for a connection share connections the next time', async () => {
    const busy = Array.from({ length: 4 }, () => client.query('SELECT SLEEP(0.2)'));
    await Promise.all([...busy, ...KEYS.map(read)]);
    // Where programs share the machine, reads may have been slow, and go alone the next time.
    await vi.waitFor(async () => {
      await admin.client.query('LOCK TABLES numbers WRITE');
      const few = KEYS.slice(0, 20);
      const reads = Promise.all(few.map(read));
      await delay(50);
      const busyReading = await reading();
      await admin.client.query('UNLOCK TABLES');
      expect(await reads).toEqual(rowsOf(few));
      // The shared connection, and one on which the statement was not prepared yet. Without sharing, all four.
      expect(busyReading.length).toBeLessThanOrEqual(2);
    }, 20_000);
  });

  test('that fail, fail alone', async () => {
    const wrong = 'SELECT id, k FROM numbers WHERE id = ? AND (SELECT id FROM numbers) = 1';
    const sql = (id: number): string => (id % 3 === 0 ? wrong : READ);
    await client.execute(wrong, [1]).catch(() => undefined);
    const found = await Promise.all(
      KEYS.map((id) =>
        client.execute(sql(id), [id]).then(
          (result) => result.rows(),
          (error: Error) => error.message,
        ),
      ),
    );
    const refused: unknown = expect.stringContaining('1242');
    const expected = KEYS.map((id) => (id % 3 === 0 ? refused : [{ id, k: id * id }]));
    expect(found).toEqual(expected);
    await expect(client.execute(READ, [1, 2])).rejects.toMatchObject({ code: 'BB_INVALID_ARGUMENT' });
    await expect(client.execute(READ, [NaN])).rejects.toMatchObject({ code: 'BB_INVALID_ARGUMENT' });
  });

  test('keep their place among the other calls of a session', async () => {
    await using one = await SqlClient.connect(admin.url, { connections: 1, int64: 'number' });
    const count = 'SELECT COUNT(*) AS n FROM others';
    const counted = async (): Promise<unknown> => (await one.execute(count)).rows();
    await counted();
    const calls = [];
    for (let n = 0; n < 20; n += 1) calls.push(counted(), counted(), one.execute('INSERT INTO others VALUES (?)', [n]));
    calls.push(one.query('BEGIN'), one.query('DELETE FROM others'), counted(), one.query('ROLLBACK'), counted());
    const found = (await Promise.all(calls)).filter(Array.isArray).map(([{ n }]) => n as number);
    expect(found).toEqual([...Array.from({ length: 40 }, (_, place) => place >> 1), 0, 20]);
  });

  describe('that wait', () => {
    beforeEach(() => admin.client.query('LOCK TABLES numbers WRITE'));
    afterEach(() => admin.client.query('UNLOCK TABLES'));

    test('hold up no other call, and outlive one that is aborted', async () => {
      const reads = Promise.all(KEYS.map(read));
      const aborted = client.execute(READ, [1], { signal: AbortSignal.timeout(50) });
      await expect(aborted).rejects.toMatchObject({ code: 'BB_ABORTED', outcome: 'unknown' });
      expect((await client.execute('SELECT 5 AS five')).rows()).toEqual([{ five: 5 }]);
      await admin.client.query('UNLOCK TABLES');
      expect(await reads).toEqual(rowsOf(KEYS));
    });

    test('are told if their connection is lost, and later calls get another one', async () => {
      const failed = failures(KEYS.map(read));
      await delay(50);
      for (const { id } of await reading()) await admin.client.query(`KILL ${String(id)}`);
      expect(new Set(await failed)).toEqual(new Set(['BB_CONNECTION']));
      await admin.client.query('UNLOCK TABLES');
      expect(await Promise.all(KEYS.map(read))).toEqual(rowsOf(KEYS));
    });

    test('end with their client', async () => {
      const failed = failures(KEYS.map(read));
      await delay(20);
      await client.close();
      expect(new Set(await failed)).toEqual(new Set(['BB_CLOSED']));
    });
  });
});
