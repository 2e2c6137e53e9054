/** Queries whose batches are made when they are asked for, on the thread that asks. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { type Connection, connect, RowInserter, SqlType, TableDefinition } from '../../../src/index.js';

const ROWS = 200_000;
const code = (expected: string) => expect.objectContaining({ code: expected });

describe.each(['embedded:', 'memory:'])('without running ahead, on %s', (uri) => {
  let connection: Connection;
  beforeAll(async () => {
    connection = await connect(uri);
    const table = new TableDefinition('t', [
      { name: 'id', type: SqlType.int() },
      { name: 'name', type: SqlType.text() },
    ]);
    await connection.createTable(table);
    const inserter = new RowInserter(connection, table);
    for (let id = 0; id < ROWS; id += 1)
      if (!inserter.addRow([id, id % 7 === 0 ? null : `n${id}`])) await inserter.drain();
    await inserter.execute();
  });
  afterAll(() => connection.close());

  test('a query returns the rows that it returns ahead, in batches of the size asked for', async () => {
    const read = async (readAhead: boolean): Promise<unknown[]> => {
      const found: unknown[] = [];
      for await (const chunk of connection.executeQueryColumnar('SELECT id, name FROM t', {
        readAhead,
        batchRows: 9999,
      })) {
        expect(chunk.rowCount).toBeLessThanOrEqual(9999);
        found.push(chunk.values('id').at(-1), chunk.values('name').at(0), chunk.nullCount('name'), chunk.rowCount);
        chunk.release();
      }
      return found;
    };
    expect(await read(false)).toEqual(await read(true));
    expect(await connection.executeQuery('SELECT id FROM t', { readAhead: false })).toHaveLength(ROWS);
  });

  test('several queries read in turns, and one may be left in the middle', async () => {
    const open = () => connection.executeQueryColumnar('SELECT id FROM t', { readAhead: false, batchRows: 1000 });
    const [left, right] = [open()[Symbol.asyncIterator](), open()[Symbol.asyncIterator]()];
    for (let batch = 0; batch < 5; batch += 1) {
      const [a, b] = [(await left.next()).value!, (await right.next()).value!];
      expect(a.values('id')).toEqual(b.values('id'));
    }
    await left.return!();
    expect((await right.next()).value!.values(0)[0]).toBe(5000);
    expect((await left.next()).done).toBe(true);
    await right.return!();
  });

  test('a signal and a time-out end it between batches, and so does the end of the connection', async () => {
    const aborting = new AbortController();
    const aborted = async (): Promise<void> => {
      const options = { readAhead: false, batchRows: 1000, signal: aborting.signal };
      for await (const _ of connection.executeQueryColumnar('SELECT id FROM t', options)) aborting.abort();
    };
    await expect(aborted()).rejects.toThrow(code('BB_ABORTED'));
    const { signal } = aborting;
    const late = connection.executeQueryColumnar('SELECT id FROM t', { readAhead: false, signal });
    await expect(late.columns()).rejects.toThrow(code('BB_ABORTED'));
  });

  test('a query that is refused is an error with a code', async () => {
    const missing = connection.executeQuery('SELECT id FROM nowhere', { readAhead: false });
    await expect(missing).rejects.toThrow(expect.objectContaining({ code: expect.stringMatching(/^BB_/) }));
  });
});

test('a query with parameters runs ahead', async () => {
  await using connection = await connect();
  const query = connection.executeQuery('SELECT $1 AS x', { parameters: [1], readAhead: false });
  await expect(query).rejects.toThrow(code('BB_INVALID_ARGUMENT'));
});

test('an error in the middle of a query ends it, and its connection goes on', async () => {
  await using connection = await connect();
  const failing = "SELECT CASE WHEN range < 150000 THEN 1 ELSE error('at the end') END AS x FROM range(200000)";
  const read = async (): Promise<number> => {
    let rows = 0;
    for await (const chunk of connection.executeQueryColumnar(failing, { readAhead: false })) rows += chunk.rowCount;
    return rows;
  };
  await expect(read()).rejects.toThrow(code('BB_ENGINE'));
  expect(await connection.executeQuery('SELECT 1 AS one', { readAhead: false })).toEqual([{ one: 1 }]);
});

test('a connection that closes ends a query that nobody asks for its next batch', async () => {
  const connection = await connect();
  const stream = connection.executeQueryColumnar('SELECT * FROM range(1000000)', { readAhead: false, batchRows: 1000 });
  const chunks = stream[Symbol.asyncIterator]();
  expect((await chunks.next()).value!.rowCount).toBe(1000);
  await connection.close();
  await expect(chunks.next()).rejects.toThrow(code('BB_CLOSED'));
});
