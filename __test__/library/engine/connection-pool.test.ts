import { join } from 'node:path';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';

import { addon, type Engine } from '../../../src/addon.js';
import {
  connect,
  type ConnectionPool,
  createPool,
  type PooledConnection,
  RowInserter,
  SqlType,
  TableDefinition,
} from '../../../src/index.js';
import { engineOf, handlesOf } from '../../../src/library/engine/connection.js';
import { folderOfTest } from '../../temporary-folder.js';

const SILENT = 'SELECT count(*) AS n FROM range(100000000000) a WHERE hash(range) = 42';

const state = ({ size, idle, waiting }: ConnectionPool) => ({ size, idle, waiting });

describe('a pool', () => {
  test.each(['embedded:', 'memory:'])('of %s lends connections to one engine', async (uri) => {
    const table = new TableDefinition('t', [{ name: 'x', type: SqlType.int() }]);
    await using pool = createPool(uri, { max: 3 });
    expect(state(pool)).toEqual({ size: 0, idle: 0, waiting: 0 });
    {
      await using first = await pool.acquire();
      await using second = await pool.acquire();
      await first.createTable(table);
      const inserter = new RowInserter(second, table);
      inserter.addRow([7]);
      await inserter.execute();
      expect(await first.executeQuery('SELECT x FROM t')).toEqual([{ x: 7 }]);
      expect(state(pool)).toEqual({ size: 2, idle: 0, waiting: 0 });
    }
    expect(state(pool)).toEqual({ size: 2, idle: 2, waiting: 0 });
    expect(await pool.use((connection) => connection.executeQuery('SELECT x FROM t'))).toEqual([{ x: 7 }]);
  });

  test('of a file lends connections to that file, and lets go of it', async () => {
    const folder = folderOfTest();
    const uri = `embedded:${join(folder, 'rows.duckdb')}`;
    const pool = createPool(uri, { max: 2 });
    await pool.use((connection) => connection.execute('CREATE TABLE t AS SELECT 1 AS x'));
    await pool.close();
    await using connection = await connect(uri);
    expect(await connection.executeQuery('SELECT x FROM t')).toEqual([{ x: 1 }]);
  });

  test('serves in the order of asking, and never lends more than max', async () => {
    await using pool = createPool('embedded:', { max: 2 });
    const order: number[] = [];
    const users = Array.from({ length: 20 }, (_, user) =>
      pool.use(async (connection) => {
        order.push(user);
        expect(pool.size).toBeLessThanOrEqual(2);
        await connection.executeQuery('SELECT 1');
      }),
    );
    expect(pool.waiting).toBe(20);
    await Promise.all(users);
    expect(order).toEqual(Array.from({ length: 20 }, (_, user) => user));
    expect(state(pool)).toEqual({ size: 2, idle: 2, waiting: 0 });
  });

  test('gives a connection back once, with nothing of its user left on it', async () => {
    await using pool = createPool('embedded:', { max: 1 });
    const connection = await pool.acquire();
    const statement = await connection.prepare('SELECT 1');
    const running = expect(connection.executeQuery(SILENT)).rejects.toMatchObject({ code: 'BB_CLOSED' });
    const stream = connection.executeQueryStream('SELECT range FROM range(1000000)')[Symbol.asyncIterator]();
    await stream.next();
    await Promise.all([connection.close(), connection.close(), connection[Symbol.asyncDispose]()]);
    await running;
    await expect(stream.next()).rejects.toMatchObject({ code: 'BB_CLOSED' });
    await expect(statement.executeQuery()).rejects.toMatchObject({ code: 'BB_CLOSED' });
    await expect(connection.executeQuery('SELECT 1')).rejects.toMatchObject({ code: 'BB_CLOSED' });
    expect(handlesOf(connection).size).toBe(0);
    expect(state(pool)).toEqual({ size: 1, idle: 1, waiting: 0 });
    await using next = await pool.acquire();
    expect(await next.executeQuery('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await connection.close();
    expect(pool.size).toBe(1);
  });

  test('makes waiting end by time and by signal, and serves those behind', async () => {
    await using pool = createPool('embedded:', { max: 1 });
    const connection = await pool.acquire();
    const abort = new AbortController();
    const timedOut = expect(pool.acquire({ timeoutMs: 40 })).rejects.toMatchObject({ code: 'BB_TIMEOUT' });
    const aborted = expect(pool.acquire({ signal: abort.signal })).rejects.toMatchObject({ code: 'BB_ABORTED' });
    const patient = pool.acquire({ timeoutMs: 100_000 });
    abort.abort();
    await Promise.all([timedOut, aborted]);
    expect(pool.waiting).toBe(1);
    await connection.close();
    await (await patient).close();
    await expect(pool.acquire({ signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'BB_ABORTED' });
    expect(state(pool)).toEqual({ size: 1, idle: 1, waiting: 0 });
  });

  test('closes idle connections above min in time', async () => {
    await using pool = createPool('embedded:', { max: 4, min: 1, idleTimeoutMs: 20 });
    const connections = await Promise.all(Array.from({ length: 4 }, () => pool.acquire()));
    await connections[0]!.execute('CREATE TABLE t (x INT)');
    await Promise.all(connections.map((connection) => connection.close()));
    expect(pool.size).toBe(4);
    while (pool.size > 1) await sleep(10);
    await sleep(60);
    expect(state(pool)).toEqual({ size: 1, idle: 1, waiting: 0 });
    expect(await pool.use((connection) => connection.listTables())).toEqual(['t']);
  });

  test('drops a connection that is discarded or no longer answers', async () => {
    await using pool = createPool('embedded:', { max: 1, checkAfterMs: 0 });
    const first = await pool.acquire();
    await first.execute('CREATE TABLE t (x INT)');
    await first.discard();
    expect(state(pool)).toEqual({ size: 0, idle: 0, waiting: 0 });
    await pool.use((connection) => connection.listTables());
    const check = vi.spyOn(addon.Engine.prototype, 'check').mockRejectedValueOnce(new Error('[BB_ENGINE] it is gone'));
    const close = vi.spyOn(addon.Engine.prototype, 'close');
    expect(await pool.use((connection) => connection.listTables())).toEqual(['t']);
    // The broken engine and the shared engine of its replacement were checked; the broken one was closed.
    expect([check.mock.calls.length, close.mock.calls.length]).toEqual([2, 1]);
    expect(state(pool)).toEqual({ size: 1, idle: 1, waiting: 0 });
  });

  test('checks a connection that has idled for long, or on which something has failed', async () => {
    await using pool = createPool('embedded:', { max: 1, checkAfterMs: 50 });
    const query = (sql: string): Promise<unknown> => pool.use((connection) => connection.executeQuery(sql));
    await query('SELECT 1');
    const check = vi.spyOn(addon.Engine.prototype, 'check');
    await query('SELECT 1');
    expect(check).toHaveBeenCalledTimes(0);
    await expect(query('SELECT nothing FROM nowhere')).rejects.toMatchObject({ code: 'BB_ENGINE' });
    await query('SELECT 1');
    expect(check).toHaveBeenCalledTimes(1);
    await sleep(80);
    await query('SELECT 1');
    expect(check).toHaveBeenCalledTimes(2);
  });

  test('says why a connection cannot be opened, to each caller', async () => {
    await using pool = createPool('embedded:/no/such/folder/x.duckdb', { max: 2 });
    const results = await Promise.allSettled(Array.from({ length: 5 }, () => pool.acquire()));
    for (const result of results) expect(result).toMatchObject({ status: 'rejected', reason: { code: 'BB_ENGINE' } });
    await expect(pool.use(() => 1)).rejects.toMatchObject({ code: 'BB_ENGINE' });
    expect(state(pool)).toEqual({ size: 0, idle: 0, waiting: 0 });
    vi.spyOn(addon.Engine.prototype, 'check').mockRejectedValueOnce(new Error('[BB_IO] for once'));
    await using fresh = createPool('embedded:');
    await expect(fresh.acquire()).rejects.toMatchObject({ code: 'BB_IO' });
    expect(await fresh.use((connection) => connection.listTables())).toEqual([]);
  });

  test('close rejects who waits, and waits for who works', async () => {
    const pool = createPool('embedded:', { max: 1 });
    const connection = await pool.acquire();
    const waiting = expect(pool.acquire()).rejects.toMatchObject({ code: 'BB_CLOSED' });
    let isClosed = false;
    const closing = Promise.all([pool.close(), pool.close()]).then(() => (isClosed = true));
    await waiting;
    expect(await connection.executeQuery('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    expect(isClosed).toBe(false);
    await connection.close();
    await closing;
    expect(state(pool)).toEqual({ size: 0, idle: 0, waiting: 0 });
    await expect(pool.acquire()).rejects.toMatchObject({ code: 'BB_CLOSED' });
    await pool.close();
  });

  test('close by force ends what runs', async () => {
    const pool = createPool('embedded:', { max: 2 });
    const connection = await pool.acquire();
    const running = expect(connection.executeQuery(SILENT)).rejects.toMatchObject({ code: 'BB_CLOSED' });
    const opening = pool.acquire();
    const refused = expect(opening).rejects.toMatchObject({ code: 'BB_CLOSED' });
    await pool.close({ force: true });
    await Promise.all([running, refused]);
    expect(pool.size).toBe(0);
  });

  test.each([
    [{ max: 0 }],
    [{ max: 1.5 }],
    [{ max: 65_536 }],
    [{ min: -1 }],
    [{ max: 2, min: 3 }],
    [{ acquireTimeoutMs: 0 }],
    [{ acquireTimeoutMs: Infinity }],
    [{ idleTimeoutMs: Number.NaN }],
    [{ idleTimeoutMs: 2 ** 31 }],
    [{ checkAfterMs: -1 }],
    [{ max: '3' as never }],
  ])('is not made of %j', (options) => {
    expect(() => createPool('embedded:', options)).toThrow(expect.objectContaining({ code: 'BB_INVALID_ARGUMENT' }));
    expect(() => createPool(7 as never)).toThrow(expect.objectContaining({ code: 'BB_INVALID_ARGUMENT' }));
  });
});

/** The action of one user of the pool. */
type Deed = 'query' | 'fail' | 'throw' | 'discard' | 'stream' | 'leave' | 'impatient' | 'broken';

test('many users with failures of all kinds: never more than max, all are served, nothing is left', async () => {
  const deed = fc.constantFrom<Deed>(
    'query',
    'query',
    'fail',
    'throw',
    'discard',
    'stream',
    'leave',
    'impatient',
    'broken',
  );
  const users = fc.array(fc.record({ deed, turns: fc.nat(3) }), { minLength: 1, maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(users, fc.integer({ min: 1, max: 4 }), fc.nat(2), async (all, max, min) => {
      const engines = new Set<Engine>();
      const pool = createPool('embedded:', { max, min: Math.min(min, max), idleTimeoutMs: 1, checkAfterMs: 0 });
      let lent = 0;
      const work = (name: Deed) => async (connection: PooledConnection) => {
        engines.add(engineOf(connection));
        expect(++lent).toBeLessThanOrEqual(max);
        expect(pool.size).toBeLessThanOrEqual(max);
        try {
          switch (name) {
            case 'fail':
              return await connection.executeQuery('SELECT nothing FROM nowhere');
            case 'throw':
              throw new Error('own');
            case 'discard':
              return connection.discard();
            case 'stream':
              for await (const _ of connection.executeQueryStream('SELECT range FROM range(10000)')) break;
              return undefined;
            case 'leave':
              // The connection is returned to the pool while the query runs.
              return void connection.executeQuery('SELECT count(*) FROM range(1000000)').catch(() => {});
            default:
              return await connection.executeQuery('SELECT 1');
          }
        } finally {
          lent--;
        }
      };
      const check = vi.spyOn(addon.Engine.prototype, 'check');
      try {
        const outcomes = await Promise.allSettled(
          all.map(async ({ deed: name, turns }) => {
            for (let turn = 0; turn < turns; turn++) await nextTurn();
            if (name === 'broken') check.mockRejectedValueOnce(new Error('[BB_ENGINE] broken'));
            const options = name === 'impatient' ? { timeoutMs: 1 } : {};
            return pool.use(work(name), options);
          }),
        );
        const codes = new Set(
          outcomes.map((outcome) => (outcome.status === 'rejected' ? codeOf(outcome.reason) : 'ok')),
        );
        expect([...codes].filter((code) => !['ok', 'BB_ENGINE', 'own', 'BB_TIMEOUT'].includes(code))).toEqual([]);
        expect([lent, pool.waiting]).toEqual([0, 0]);
        expect(pool.size).toBeLessThanOrEqual(max);
        check.mockRestore();
        // All lost connections are replaced.
        const held = await Promise.all(Array.from({ length: max }, () => pool.acquire()));
        expect(pool.size).toBe(max);
        await Promise.all(held.map((connection) => connection.executeQuery('SELECT 1')));
        await Promise.all(held.map((connection) => connection.close()));
      } finally {
        await pool.close({ force: true });
        vi.restoreAllMocks();
        // Each leased engine is closed.
        for (const engine of engines) expect(() => engine.name).toThrow('BB_CLOSED');
      }
      expect(state(pool)).toEqual({ size: 0, idle: 0, waiting: 0 });
    }),
    { numRuns: 40 },
  );
});

function codeOf(error: Error & { code?: string }): string {
  return error.code ?? error.message;
}
