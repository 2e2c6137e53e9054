import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from 'vitest';

import {
  attach,
  type BoundaryError,
  connect,
  type Connection,
  createWorkers,
  type WorkerPool,
  type WorkersOptions,
} from '../../../src/index.js';
import { endingOf } from '../../addon/run-script.js';
import { failureOf } from '../../error-with.js';

type Functions = typeof import('./functions.mjs');
type Pool = WorkerPool<Functions>;

const MODULE = new URL('functions.mjs', import.meta.url);

const pools: Pool[] = [];
async function open(options: Partial<WorkersOptions> = {}): Promise<Pool> {
  const pool = await createWorkers<Functions>({ module: MODULE, count: 2, ...options });
  pools.push(pool);
  return pool;
}
afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.close({ force: true })));
});

const code = (expected: string) => expect.objectContaining({ code: expected });

/** The code with which attaching to an engine fails; undefined if it does not. */
async function codeOfAttach(handle: string): Promise<string | undefined> {
  try {
    await attach(handle).close();
    return undefined;
  } catch (thrown) {
    return (thrown as BoundaryError).code;
  }
}

describe('a pool of workers', () => {
  test('calls functions of a module in its threads, and keeps the module loaded', async () => {
    const pool = await open({ count: 1, module: fileURLToPath(MODULE) });
    expect(await pool.run('add', { left: 1, right: 2 })).toBe(3);
    expect([await pool.run('counted'), await pool.run('counted')]).toEqual([1, 2]);
    expect([pool.count, pool.busy, pool.waiting]).toEqual([1, 0, 0]);
  });

  test('a module may send messages of its own', async () => {
    const pool = await open({ count: 1 });
    for (const value of [1, 2, 3]) expect(await pool.run('chatty', value)).toBe(value);
  });

  test('closed by force in the same turn as a call, rejects the call as closed', async () => {
    const pool = await open({ count: 1 });
    const call = failureOf(pool.run('counted'));
    await pool.close({ force: true });
    expect(await call).toEqual(code('BB_CLOSED'));
  });

  test('makes no call if an argument of one cannot be made', async () => {
    const pool = await open();
    expect(() =>
      pool.runOnEach('add', (index) => {
        if (index === 1) throw new Error('no argument');
        return { left: 1, right: 2 };
      }),
    ).toThrow('no argument');
    expect(pool.busy).toBe(0);
  });

  test('calls a function once in each thread, or in the one that is named', async () => {
    const pool = await open({ count: 3 });
    expect(await Promise.all(pool.runOnEach('whichWorker'))).toEqual([0, 1, 2].map((index) => ({ index, count: 3 })));
    expect(await Promise.all(pool.runOnEach('add', (index) => ({ left: index, right: 10 })))).toEqual([10, 11, 12]);
    expect(await pool.run('whichWorker', undefined, { worker: 2 })).toEqual({ index: 2, count: 3 });
  });

  test('gives a call for one thread to that thread alone, and others pass it', async () => {
    const pool = await open();
    const order: string[] = [];
    const note = async (name: string, work: Promise<unknown>): Promise<void> => {
      await work;
      order.push(name);
    };
    await Promise.all([
      note('long', pool.run('wait', 200, { worker: 0 })),
      note('same thread', pool.run('wait', 0, { worker: 0 })),
      note('any thread', pool.run('wait', 0)),
    ]);
    expect(order).toEqual(['any thread', 'long', 'same thread']);
  });

  test('hands buffers over both ways, and copies them otherwise', async () => {
    const pool = await open({ count: 1 });
    const values = new Float64Array([1, 2, 3]);
    expect(await pool.run('sumAndReturn', values)).toEqual({ sum: 6, values });
    expect(values.length).toBe(3);
    expect(await pool.run('sumAndReturn', values, { transfer: [values.buffer] })).toEqual({
      sum: 6,
      values: new Float64Array([1, 2, 3]),
    });
    expect(values.length).toBe(0);
  });

  test('says when its queue is full, and when to go on', async () => {
    const pool = await open({ count: 1, maxQueued: 1 });
    const first = pool.run('wait', 50);
    const second = pool.run('wait', 0);
    await expect(pool.run('wait', 0)).rejects.toThrow(code('BB_QUEUE_FULL'));
    expect([pool.busy, pool.waiting]).toEqual([1, 1]);
    await pool.drain();
    expect(pool.waiting).toBe(0);
    expect(await Promise.all([first, second, pool.run('wait', 0)])).toEqual([50, 0, 0]);
  });

  test.each([
    [{ module: './functions.mjs' }, 'module'],
    [{ module: 7 as unknown as string }, 'module'],
    [{ count: 0 }, 'count'],
    [{ count: 1.5 }, 'count'],
    [{ count: NaN }, 'count'],
    [{ maxQueued: -1 }, 'maxQueued'],
    [{ graceMs: 0 }, 'graceMs'],
    [{ connection: Promise.resolve() as unknown as Connection }, 'connection'],
  ])('refuses %o', async (options, name) => {
    const error = await failureOf(open(options));
    expect(error).toMatchObject({ code: 'BB_INVALID_ARGUMENT', message: expect.stringContaining(name) });
  });

  test.each([[{ worker: 2 }], [{ worker: -1 }], [{ timeoutMs: 0 }], [{ transfer: 'x' as unknown as [] }]])(
    'refuses calls with %o',
    async (options) => {
      const pool = await open();
      await expect(pool.run('counted', undefined, options)).rejects.toThrow(code('BB_INVALID_ARGUMENT'));
      expect(await pool.run('counted')).toBe(1);
    },
  );
});

describe('an engine', () => {
  test('is shared with all threads, whose results add up', async () => {
    await using connection = await connect();
    await connection.execute('CREATE TABLE t_0 AS SELECT * FROM range(1000)');
    await connection.execute('CREATE TABLE t_1 AS SELECT * FROM range(500)');
    const pool = await open({ connection });
    expect(await Promise.all(pool.runOnEach('rowsOf', (index) => `t_${index}`))).toEqual([1000, 500]);
  });

  test.each(['embedded:', 'memory:'])(
    'of %s takes columns from threads to which they were handed over',
    async (uri) => {
      await using connection = await connect(uri);
      const { SqlType, TableDefinition } = await import('../../../src/index.js');
      const shares = [new Int32Array(70_000).fill(1), new Int32Array(30_000).fill(2)];
      for (const index of shares.keys()) {
        await connection.createTable(new TableDefinition(`t_${index}`, [{ name: 'id', type: SqlType.int() }]));
      }
      const pool = await open({ connection });
      const inserted = shares.map((id, worker) =>
        pool.run('insertColumns', { table: `t_${worker}`, id }, { worker, transfer: [id.buffer] }),
      );
      expect(await Promise.all(inserted)).toEqual([70_000, 30_000]);
      expect(shares.map(({ length }) => length)).toEqual([0, 0]);
      for (const [index, rows] of [70_000, 30_000].entries()) {
        let sum = 0;
        for await (const chunk of connection.executeQueryColumnar(`SELECT id FROM t_${index}`)) {
          sum += (chunk.column('id') as Int32Array).reduce((all, id) => all + id, 0);
        }
        expect(sum).toBe(rows * (index + 1));
      }
    },
  );

  test('stays open for the threads when this one closes it, and ends with the pool', async () => {
    const connection = await connect();
    await connection.execute('CREATE TABLE t AS SELECT * FROM range(10)');
    const handle = connection.share();
    const pool = await open({ connection });
    await connection.close();
    expect(await Promise.all(pool.runOnEach('rowsOf', () => 't'))).toEqual([10, 10]);
    const again = attach(handle);
    await again.close();
    await pool.close();
    expect(() => attach(handle)).toThrow(code('BB_CLOSED'));
  });

  test('that is closed can be given to no pool, and a thread that closes it gets its code', async () => {
    const connection = await connect();
    const pool = await open({ connection });
    await expect(pool.run('closeConnection')).rejects.toThrow(code('BB_CLOSED'));
    await connection.close();
    await expect(open({ connection })).rejects.toThrow(code('BB_CLOSED'));
  });

  test('that nobody gave to the pool is missed with a code', async () => {
    const pool = await open();
    await expect(pool.run('rowsOf', 't')).rejects.toThrow(code('BB_INVALID_ARGUMENT'));
  });

  test.each(['0', '-1', 'no handle', '99999999', '1e3', ''])('has no handle %o', (handle) => {
    expect(() => attach(handle)).toThrow(code('BB_INVALID_ARGUMENT'));
  });
});

describe('a function', () => {
  test('that fails is the cause of an error with a code, and its thread goes on', async () => {
    const pool = await open({ count: 1 });
    const error = await failureOf(pool.run('fail', 'as asked'));
    expect(error).toMatchObject({ code: 'BB_FUNCTION_FAILED', message: expect.stringContaining('as asked') });
    expect(error.cause).toBeInstanceOf(TypeError);
    expect((error.cause as Error).stack).toContain('functions.mjs');
    await expect(pool.run('failUncloneable')).rejects.toThrow(code('BB_FUNCTION_FAILED'));
    await expect(pool.run('failOddly')).rejects.toThrow(code('BB_FUNCTION_FAILED'));
    expect(await pool.run('counted')).toBe(1);
  });

  test('that is not there is named, with the functions that are there', async () => {
    const pool = (await open({ count: 1 })) as unknown as WorkerPool;
    for (const name of ['nothing', 'NUMBER', 'toString', '__proto__']) {
      const error = await failureOf(pool.run(name));
      expect(error).toMatchObject({ code: 'BB_FUNCTION_NOT_FOUND', hint: expect.stringContaining('counted') });
    }
  });

  test('neither takes nor returns values that cannot be cloned', async () => {
    const pool = (await open({ count: 1 })) as unknown as WorkerPool;
    await expect(pool.run('add', () => {})).rejects.toThrow(code('BB_NOT_CLONEABLE'));
    await expect(pool.run('add', {}, { transfer: [{}] })).rejects.toThrow(code('BB_NOT_CLONEABLE'));
    await expect(pool.run('unsendable')).rejects.toThrow(code('BB_NOT_CLONEABLE'));
    expect(await pool.run('counted')).toBe(1);
  });

  test('may send messages of its own', async () => {
    const pool = await open({ count: 1 });
    expect(await pool.run('babble')).toBe('done');
    expect(await pool.run('counted')).toBe(1);
  });

  test('whose module cannot be loaded lets no pool open', async () => {
    const missing = await failureOf(open({ module: new URL('nowhere.mjs', import.meta.url) }));
    expect(missing).toMatchObject({ code: 'BB_MODULE_NOT_LOADED', message: expect.stringContaining('nowhere.mjs') });
    const broken = 'data:text/javascript,throw new RangeError("at its load")';
    await expect(open({ module: broken })).rejects.toThrow(code('BB_MODULE_NOT_LOADED'));
    const exiting = 'data:text/javascript,process.exit(3)';
    await expect(open({ module: exiting })).rejects.toThrow(code('BB_WORKER_EXITED'));
  });
});

describe('a thread that crashes', () => {
  test.each([
    ['exit', 5, 'exit code 5'],
    ['crash', undefined, 'nobody awaits this'],
  ] as const)('by %s fails its own call alone, and the next one starts it again', async (name, argument, reason) => {
    const pool = await open();
    await Promise.all(pool.runOnEach('counted'));
    const [crashed, ...others] = await Promise.allSettled([
      pool.run(name, argument as never, { worker: 0 }),
      pool.run('wait', 100, { worker: 1 }),
      pool.run('counted', undefined, { worker: 0 }),
      pool.run('counted', undefined, { worker: 1 }),
    ]);
    expect(crashed).toMatchObject({ status: 'rejected', reason: { code: 'BB_WORKER_EXITED' } });
    expect((crashed as PromiseRejectedResult).reason.message).toContain(reason);
    // The first thread is a new one, whose module was loaded again.
    expect(others).toEqual([100, 1, 2].map((value) => ({ status: 'fulfilled', value })));
  });

  test('finds its engine again, also if nobody else has it open any more', async () => {
    const connection = await connect();
    await connection.execute('CREATE TABLE t AS SELECT * FROM range(10)');
    const handle = connection.share();
    const pool = await open({ connection, count: 1 });
    await expect(pool.run('exit', 0)).rejects.toThrow(code('BB_WORKER_EXITED'));
    expect(await pool.run('rowsOf', 't')).toBe(10);
    await connection.close();
    await expect(pool.run('exit', 0)).rejects.toThrow(code('BB_WORKER_EXITED'));
    expect(await pool.run('rowsOf', 't')).toBe(10);
    await pool.close();
    // The thread that ended may still be closing its connection: it ends with its own environment.
    await expect.poll(() => codeOfAttach(handle)).toBe('BB_CLOSED');
  });
});

describe('a call', () => {
  test('that waits is rejected at once when its signal aborts', async () => {
    const pool = await open({ count: 1 });
    const aborting = new AbortController();
    const first = pool.run('wait', 100);
    const waiting = pool.run('counted', undefined, { signal: aborting.signal });
    const late = pool.run('counted', undefined, { timeoutMs: 20 });
    const last = pool.run('counted');
    aborting.abort(new Error('not wanted'));
    const error = await failureOf(waiting);
    expect(error).toMatchObject({ code: 'BB_ABORTED', cause: new Error('not wanted') });
    await expect(late).rejects.toThrow(code('BB_TIMEOUT'));
    expect([pool.busy, pool.waiting]).toEqual([1, 1]);
    expect(await Promise.all([first, last])).toEqual([100, 1]);
    await expect(pool.run('counted', undefined, { signal: aborting.signal })).rejects.toThrow(code('BB_ABORTED'));
    expect(await pool.run('counted')).toBe(2);
  });

  test.each([
    ['a function that sees the signal', 'wait', 60_000],
    ['a query', 'longQuery', undefined],
  ] as const)('under way is ended by the signal or the time-out: %s', async (_, name, argument) => {
    await using connection = await connect();
    const pool = await open({ count: 1, connection, graceMs: 60_000 });
    expect(await pool.run('counted')).toBe(1);
    const aborting = new AbortController();
    const running = pool.run(name, argument as never, { signal: aborting.signal });
    await nextTurn();
    aborting.abort();
    await expect(running).rejects.toThrow(code('BB_ABORTED'));
    await expect(pool.run(name, argument as never, { timeoutMs: 30 })).rejects.toThrow(code('BB_TIMEOUT'));
    // It is still the same thread.
    expect(await pool.run('counted')).toBe(2);
  });

  test.each([
    ['spin', undefined],
    ['waitDeaf', 60_000],
  ] as const)('of %s, which does not see the signal, is terminated after the time of grace', async (name, argument) => {
    const pool = await open({ count: 1, graceMs: 50 });
    expect(await pool.run('counted')).toBe(1);
    await expect(pool.run(name, argument as never, { timeoutMs: 20 })).rejects.toThrow(code('BB_TIMEOUT'));
    expect(await pool.run('counted')).toBe(1);
  });

  test('that is aborted before its thread has started again makes no call', async () => {
    const pool = await open({ count: 1 });
    await expect(pool.run('exit', 0)).rejects.toThrow(code('BB_WORKER_EXITED'));
    await expect(pool.run('counted', undefined, { signal: AbortSignal.timeout(1) })).rejects.toThrow(
      code('BB_ABORTED'),
    );
    expect(await pool.run('counted')).toBe(1);
  });
});

describe('closing', () => {
  test('awaits the calls under way, rejects those that wait, and may be done twice', async () => {
    const pool = await open({ count: 1 });
    const running = pool.run('wait', 50);
    const waiting = pool.run('counted');
    const closed = [pool.close(), pool.close(), pool[Symbol.asyncDispose]()];
    await expect(waiting).rejects.toThrow(code('BB_CLOSED'));
    await expect(pool.run('counted')).rejects.toThrow(code('BB_CLOSED'));
    await pool.drain();
    expect(await running).toBe(50);
    await Promise.all(closed);
    await pool.close({ force: true });
  });

  test('by force terminates a query and an endless loop', async () => {
    await using connection = await connect();
    const pool = await open({ connection });
    const running = [pool.run('longQuery'), pool.run('spin')];
    await sleep(50);
    const settled = Promise.allSettled(running);
    await pool.close({ force: true });
    for (const outcome of await settled) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'BB_CLOSED' } });
    }
    // The query has left the engine as it was.
    expect(await connection.executeQuery('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });
});

test.each(['closed', 'idle', 'crashed', 'busy'])('a process with a pool that is %s ends by itself', async (state) => {
  const { stderr, ...ending } = await endingOf('workers.mjs', [state]);
  expect(ending, stderr).toEqual({ code: 0, signal: null, stdout: '6' });
});

test('options that are no object are refused', async () => {
  const code = { code: 'BB_INVALID_ARGUMENT', message: expect.stringContaining('options must be an object, not ') };
  for (const options of [undefined, null, 3]) await expect(createWorkers(options as never)).rejects.toMatchObject(code);
  const pool = await createWorkers({ count: 1, module: MODULE });
  await expect(pool.run('anything', 1, null as never)).rejects.toMatchObject(code);
  await pool.close();
});
