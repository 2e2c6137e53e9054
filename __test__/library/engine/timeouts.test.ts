import { getEventListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { connect, type Connection, type WorkOptions } from '../../../src/index.js';
import { handlesOf } from '../../../src/library/engine/connection.js';
import { errorWith } from '../../error-with.js';

const ENDLESS = 'SELECT range AS id FROM range(1000000000000)';
/** A query that runs for long before its first row, so that there is nothing to read while it runs. */
const SILENT = 'SELECT count(*) AS n FROM range(100000000000) a WHERE hash(range) = 42';
/** A time-out in milliseconds that is long enough for any call that ends at all. */
const AMPLE = 100_000;

let connection: Connection;
beforeEach(async () => void (connection = await connect()));
afterEach(() => connection.close());

const LANES: Record<string, (sql: string, options: WorkOptions) => Promise<unknown>> = {
  executeQuery: (sql, options) => connection.executeQuery(sql, options),
  executeQueryToArrow: (sql, options) => connection.executeQueryToArrow(sql, options),
  execute: (sql, options) => connection.execute(`CREATE OR REPLACE TABLE sink AS ${sql}`, options),
  executeQueryStream: async (sql, options) => {
    for await (const _ of connection.executeQueryStream(sql, options));
  },
  chunks: async (sql, options) => {
    for await (const _ of connection.executeQueryStream(sql, options).chunks());
  },
  executeQueryColumnar: async (sql, options) => {
    for await (const chunk of connection.executeQueryColumnar(sql, options)) chunk.release();
  },
  prepared: async (sql, options) => {
    await using statement = await connection.prepare(sql, options);
    await statement.executeQuery([], options);
  },
};

describe.each(Object.keys(LANES))('%s', (lane) => {
  const run = LANES[lane]!;

  test('ends with BB_TIMEOUT when its time is over', async () => {
    for (const sql of [SILENT, ENDLESS]) {
      await expect(run(sql, { timeoutMs: 50 })).rejects.toMatchObject({
        name: 'BoundaryError',
        code: 'BB_TIMEOUT',
        message: 'the work took longer than its 50 ms',
      });
      expect(handlesOf(connection).size).toBe(0);
    }
    expect(await connection.executeQuery('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  test.each([undefined, AMPLE])('ends when its signal is aborted, with the time %s', async (timeoutMs) => {
    for (const sql of [SILENT, ENDLESS]) {
      const abort = new AbortController();
      const { signal } = abort;
      const reason = new Error('enough');
      const aborted = { code: 'BB_ABORTED', cause: reason };
      const ended = expect(run(sql, { signal, timeoutMs })).rejects.toMatchObject(aborted);
      await sleep(50);
      abort.abort(reason);
      await ended;
      expect(getEventListeners(signal, 'abort')).toEqual([]);
      expect(handlesOf(connection).size).toBe(0);
    }
  });

  test('lets go of its signal when its time is over, at its end, and after an error', async () => {
    const late = new AbortController();
    await expect(run(SILENT, { signal: late.signal, timeoutMs: 30 })).rejects.toMatchObject({ code: 'BB_TIMEOUT' });
    late.abort();
    const { signal } = new AbortController();
    await run('SELECT 1 AS one', { signal });
    await expect(run('SELECT nothing FROM nowhere', { signal })).rejects.toMatchObject({ name: 'BoundaryError' });
    for (const each of [signal, late.signal]) expect(getEventListeners(each, 'abort')).toEqual([]);
    expect(handlesOf(connection).size).toBe(0);
  });

  test('does not begin with an aborted signal', async () => {
    await expect(run('this would be an error of SQL', { signal: AbortSignal.abort('before') })).rejects.toMatchObject({
      code: 'BB_ABORTED',
      cause: 'before',
    });
  });

  test('ends with its connection', async () => {
    const ended = expect(run(SILENT, { signal: new AbortController().signal })).rejects.toMatchObject({
      code: 'BB_CLOSED',
    });
    await sleep(20);
    await connection.close();
    await ended;
  });

  test('has one timer, which keeps no process alive and is gone at its end and after an error', async () => {
    const set = vi.spyOn(globalThis, 'setTimeout');
    const cleared = vi.spyOn(globalThis, 'clearTimeout');
    await run('SELECT 1 AS one', { timeoutMs: AMPLE });
    await expect(run('SELECT nothing FROM nowhere', { timeoutMs: AMPLE })).rejects.toThrow(errorWith('BB_ENGINE'));
    const timers = set.mock.calls.flatMap(([, delay], call) =>
      delay === AMPLE ? [set.mock.results[call]!.value] : [],
    );
    expect(timers.length).toBeGreaterThanOrEqual(2);
    for (const timer of timers as NodeJS.Timeout[]) {
      expect(timer.hasRef()).toBe(false);
      expect(cleared.mock.calls.map(([given]) => given)).toContain(timer);
    }
    expect(handlesOf(connection).size).toBe(0);
  });

  test.each([0, -1, 0.5, Number.NaN, Infinity, 2 ** 31, '50', null, {}])('does not take the time %s', async (time) => {
    await expect(run('SELECT 1', { timeoutMs: time as number })).rejects.toThrow(
      errorWith('BB_INVALID_ARGUMENT', /^timeoutMs must be an integer/),
    );
  });
});

test('rows at hand are not given out after an abort', async () => {
  const abort = new AbortController();
  let rows = 0;
  const read = async () => {
    for await (const _ of connection.executeQueryStream(ENDLESS, { signal: abort.signal }))
      if (++rows === 10) abort.abort();
  };
  await expect(read()).rejects.toMatchObject({ code: 'BB_ABORTED' });
  expect(rows).toBe(10);
});

test('a command that takes too long leaves nothing behind', async () => {
  const sql = `CREATE TABLE a (x INT); CREATE TABLE b AS ${SILENT}`;
  await expect(connection.execute(sql, { timeoutMs: 30 })).rejects.toMatchObject({ code: 'BB_TIMEOUT' });
  expect(await connection.listTables()).toEqual([]);
});

test('a stream that is read slowly ends when its time is over, with no rows after that', async () => {
  let rows = 0;
  const read = async () => {
    for await (const _ of connection.executeQueryStream(ENDLESS, { timeoutMs: 1000 })) {
      rows++;
      await sleep(20);
    }
  };
  await expect(read()).rejects.toMatchObject({ code: 'BB_TIMEOUT' });
  expect(rows).toBeGreaterThan(0);
  const iterator = connection.executeQueryStream(ENDLESS, { timeoutMs: 20 })[Symbol.asyncIterator]();
  await iterator.next();
  await iterator.return!();
  await sleep(40);
  expect(await iterator.next()).toEqual({ value: undefined, done: true });
});

test('a time that passes while the loop is held up does not end what is done', async () => {
  const done = connection.executeQuery('SELECT 1 AS one', { timeoutMs: 5000 });
  expect(await done).toEqual([{ one: 1 }]);
  const stream = connection.executeQueryStream('SELECT 1 AS one', { timeoutMs: 20 });
  // The time-out begins with the request for the first row.
  await sleep(60);
  const rows = [];
  for await (const row of stream) rows.push(row);
  expect(rows).toEqual([{ one: 1 }]);
});

describe('a change', () => {
  const NOT_EXECUTED: unknown = expect.objectContaining({ code: 'BB_ABORTED', outcome: 'not executed' });
  const INSERT = 'INSERT INTO t SELECT range::INTEGER FROM range(5000)';
  const CHANGES: Record<string, (options: WorkOptions) => Promise<unknown>> = {
    execute: (options) => connection.execute(INSERT, options),
    executeQuery: (options) => connection.executeQuery(`${INSERT} RETURNING id`, options),
    executeQueryToArrow: (options) => connection.executeQueryToArrow(`${INSERT} RETURNING id`, options),
    chunks: async (options) => {
      const rows = connection.executeQueryStream(`${INSERT} RETURNING id`, { ...options, batchRows: 1000 });
      for await (const _ of rows.chunks());
    },
    executeQueryColumnar: async (options) => {
      const chunks = connection.executeQueryColumnar(`${INSERT} RETURNING id`, { ...options, readAhead: false });
      for await (const chunk of chunks) chunk.release();
    },
    prepared: async (options) => {
      await using statement = await connection.prepare(`${INSERT} RETURNING id`);
      await statement.executeQuery([], options);
    },
  };

  test.each(Object.keys(CHANGES))('by %s that is reported as ended early was not executed', async (lane) => {
    await connection.execute('CREATE TABLE t (id INTEGER)');
    const ends = { stored: 0, ended: 0 };
    let stored = 0n;
    // The turns of the event loop from the call to beyond its end, as many as that takes now.
    let reach = 40;
    for (let attempt = 0; attempt < 200; attempt++) {
      const abort = new AbortController();
      // The signal comes before, in and after the change, and while its rows are read.
      let turns = Math.floor((reach * (attempt % 20)) / 20);
      const turn = (): unknown => (turns-- > 0 ? setImmediate(turn) : abort.abort());
      turn();
      const error: unknown = await CHANGES[lane]!({ signal: abort.signal }).catch((thrown: unknown) => thrown);
      turns = 0;
      const [{ n }] = (await connection.executeQuery<{ n: bigint }>('SELECT count(*) AS n FROM t')) as [{ n: bigint }];
      const ended = error instanceof Error ? error : undefined;
      expect([ended, n - stored]).toEqual(ended === undefined ? [undefined, 5000n] : [NOT_EXECUTED, 0n]);
      ends[ended === undefined ? 'stored' : 'ended']++;
      reach *= ended === undefined ? 0.95 : 1.1;
      stored = n;
    }
    expect(Math.min(ends.stored, ends.ended)).toBeGreaterThan(0);
  });

  test('that is ended while its rows are read is read to its end', async () => {
    await connection.execute('CREATE TABLE t (id INTEGER)');
    const abort = new AbortController();
    let rows = 0;
    for await (const chunk of connection
      .executeQueryStream(`${INSERT} RETURNING id`, { batchRows: 1000, signal: abort.signal, timeoutMs: AMPLE })
      .chunks()) {
      rows += chunk.length;
      abort.abort();
    }
    expect(rows).toBe(5000);
    expect(handlesOf(connection).size).toBe(0);
  });
});
