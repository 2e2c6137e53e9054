import { getEventListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { tableFromIPC } from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import {
  attach,
  connect,
  type Connection,
  dateFromMicros,
  type ParameterInput,
  SqlType,
  TableDefinition,
  typed,
} from '../../../src/index.js';
import { handlesOf } from '../../../src/library/engine/connection.js';
import { detached } from '../../detached.js';

/** A query that runs for long before its first row. */
const SILENT = 'SELECT count(*) AS n FROM range(100000000000) a WHERE hash(range) = $1';

let connection: Connection;
beforeEach(async () => void (connection = await connect()));
afterEach(() => connection.close());

/** Every way to run a statement that returns one row with the column `x`; each resolves to the value of `x`. */
const LANES: Record<string, (sql: string, parameters: ParameterInput[]) => Promise<unknown>> = {
  async executeQuery(sql, parameters) {
    return (await connection.executeQuery(sql, { parameters }))[0]?.['x'];
  },
  async executeQueryStream(sql, parameters) {
    for await (const row of connection.executeQueryStream(sql, { parameters })) return row['x'];
  },
  async executeQueryColumnar(sql, parameters) {
    for await (using chunk of connection.executeQueryColumnar(sql, { parameters })) return chunk.row(0)['x'];
  },
  async executeQueryToArrow(sql, parameters) {
    return tableFromIPC(await connection.executeQueryToArrow(sql, { parameters })).get(0)?.['x'];
  },
  async preparedQuery(sql, parameters) {
    await using statement = await connection.prepare(sql);
    return (await statement.executeQuery(parameters))[0]?.['x'];
  },
  async preparedStream(sql, parameters) {
    await using statement = await connection.prepare(sql);
    for await (const row of statement.executeQueryStream(parameters)) return row['x'];
  },
  async preparedColumnar(sql, parameters) {
    await using statement = await connection.prepare(sql);
    for await (using chunk of statement.executeQueryColumnar(parameters)) return chunk.row(0)['x'];
  },
  async preparedArrow(sql, parameters) {
    await using statement = await connection.prepare(sql);
    return tableFromIPC(await statement.executeQueryToArrow(parameters)).get(0)?.['x'];
  },
};

describe('parameters', () => {
  test.each(Object.keys(LANES))('%s takes them', async (lane) => {
    const run = LANES[lane]!;
    expect(await run('SELECT range AS x FROM range($1) WHERE range > $2', [10, 8])).toBe(9n);
    expect(await run('SELECT upper($1) AS x', ["'; DROP TABLE t; --"])).toBe("'; DROP TABLE T; --");
    expect(handlesOf(connection).size).toBe(0);
    for (const parameters of [[], [1, 2, 3]]) {
      await expect(run('SELECT $1 AS x, $2', parameters)).rejects.toMatchObject({
        name: 'BoundaryError',
        code: 'BB_INVALID_ARGUMENT',
        message: expect.stringMatching(/^parameter [13]: /),
      });
    }
    expect(handlesOf(connection).size).toBe(0);
  });

  test.each<[string, ParameterInput, string, unknown]>([
    ['null', null, '"NULL"', null],
    ['true', true, 'BOOLEAN', true],
    ['a safe integer', -5, 'BIGINT', -5n],
    ['the largest safe integer', Number.MAX_SAFE_INTEGER, 'BIGINT', 9007199254740991n],
    ['a bigint', -(2n ** 63n), 'BIGINT', -9223372036854775808n],
    ['a fraction', 0.1, 'DOUBLE', 0.1],
    ['NaN', Number.NaN, 'DOUBLE', Number.NaN],
    ['Infinity', -Infinity, 'DOUBLE', -Infinity],
    ['minus zero', -0, 'DOUBLE', -0],
    ['a string', 'naïve 😀\0.', 'VARCHAR', 'naïve 😀\0.'],
    ['no characters', '', 'VARCHAR', ''],
    ['bytes', Uint8Array.of(0, 255), 'BLOB', Uint8Array.of(0, 255)],
    ['a Buffer', Buffer.from('x'), 'BLOB', new Uint8Array([120])],
    ['a Date', new Date(-1), 'TIMESTAMP', -1000n],
    ['a typed BOOLEAN', typed(SqlType.bool(), false), 'BOOLEAN', false],
    ['an unsafe integer', -(2 ** 53), 'DOUBLE', -(2 ** 53)],
    ['a huge number', 1e300, 'DOUBLE', 1e300],
    ['a typed SMALLINT', typed(SqlType.smallInt(), 7), 'SMALLINT', 7],
    ['a typed INTEGER', typed(SqlType.int(), 7), 'INTEGER', 7],
    ['a typed BIGINT', typed(SqlType.bigInt(), 7), 'BIGINT', 7n],
    ['a typed REAL', typed(SqlType.real(), 0.1), 'FLOAT', Math.fround(0.1)],
    ['a typed DOUBLE', typed(SqlType.double(), 1e300), 'DOUBLE', 1e300],
    ['a typed DECIMAL', typed(SqlType.decimal(10, 2), '-1.5'), 'DECIMAL(10,2)', '-1.50'],
    ['a long DECIMAL', typed(SqlType.decimal(38, 0), 10n ** 38n - 1n), 'DECIMAL(38,0)', '9'.repeat(38)],
    ['a DECIMAL of a number', typed(SqlType.decimal(4, 3), 1.125), 'DECIMAL(4,3)', '1.125'],
    ['a typed VARCHAR', typed(SqlType.text(), 'x'), 'VARCHAR', 'x'],
    ['a typed BLOB', typed(SqlType.bytes(), Uint8Array.of(1)), 'BLOB', Uint8Array.of(1)],
    ['a typed DATE', typed(SqlType.date(), -1), 'DATE', -1],
    ['a DATE of a Date', typed(SqlType.date(), new Date('2024-02-29')), 'DATE', 19782],
    ['a typed TIMESTAMP', typed(SqlType.timestamp(), 1_700_000_000_123_456n), 'TIMESTAMP', 1_700_000_000_123_456n],
    ['a null of INTEGER', typed(SqlType.int(), null), 'INTEGER', null],
    ['a null of DECIMAL', typed(SqlType.decimal(5, 2), null), 'DECIMAL(5,2)', null],
  ])('%s arrives', async (_, value, type, expected) => {
    const [row] = await connection.executeQuery('SELECT $1 AS x, typeof($1) AS type', { parameters: [value] });
    expect(row).toEqual({ x: expected, type });
    await using statement = await connection.prepare('SELECT $1 AS x, typeof($1) AS type');
    expect(await statement.executeQuery([value])).toEqual([{ x: expected, type }]);
  });

  test.each<[string, unknown, string]>([
    ['undefined', undefined, 'undefined is not a value of SQL'],
    ['a symbol', Symbol('x'), 'a symbol is not a value of SQL'],
    ['a function', () => 1, 'a function is not a value of SQL'],
    ['an object', { kind: 'date', value: 1 }, 'an object is not a value of SQL'],
    ['an array', [1], 'an array is not a value of SQL'],
    ['another typed array', Int32Array.of(1), 'a typed array is not a value of SQL'],
    ['a bigint of 65 bits', 2n ** 63n, 'does not fit into 64 bits'],
    ['a lone surrogate', '\uD800', 'has a lone surrogate'],
    ['an invalid Date', new Date(Number.NaN), 'the Date is invalid'],
    ['a day with hours', typed(SqlType.date(), new Date(1)), 'is not midnight UTC of a day'],
    ['an INTEGER of 33 bits', typed(SqlType.int(), 2 ** 31), 'does not fit into 32 bits'],
    ['a typed text of a number', typed(SqlType.text(), 5), '5 is not a string'],
    ['a decimal of too many digits', typed(SqlType.decimal(3, 2), '12.34'), 'has more digits than DECIMAL(3, 2)'],
    ['a typed undefined', typed(SqlType.int(), undefined), 'undefined is not a value of SQL'],
    ['detached bytes', detached(Uint8Array.of(1)), 'the memory of the Uint8Array is detached'],
  ])('%s is refused with its position', async (_, value, problem) => {
    const parameters = [1, value as ParameterInput];
    const message = new RegExp(`^parameter 2: .*${problem.replaceAll(/[()]/g, '\\$&')}`);
    const refusal = { code: 'BB_INVALID_ARGUMENT', message: expect.stringMatching(message) };
    await using statement = await connection.prepare('SELECT $1 AS x, $2 AS y');
    const runs = [
      async () => connection.executeQuery('SELECT $1, $2', { parameters }),
      async () => connection.executeQueryStream('SELECT $1, $2', { parameters }),
      async () => connection.executeQueryColumnar('SELECT $1, $2', { parameters }),
      async () => connection.executeQueryToArrow('SELECT $1, $2', { parameters }),
      async () => connection.execute('SELECT $1, $2', { parameters }),
      async () => statement.executeQuery(parameters),
      async () => statement.executeQueryStream(parameters),
      async () => statement.executeQueryColumnar(parameters),
      async () => statement.executeQueryToArrow(parameters),
      async () => statement.execute(parameters),
    ];
    for (const run of runs) await expect(run()).rejects.toMatchObject(refusal);
  });

  test('are an array, holes included, and are copied when they are given', async () => {
    for (const wrong of [null, {}, 'ab', new Set([1]), Int32Array.of(1)]) {
      await expect(connection.executeQuery('SELECT $1', { parameters: wrong as never })).rejects.toMatchObject({
        code: 'BB_INVALID_ARGUMENT',
      });
    }
    const holes: ParameterInput[] = [];
    holes[1] = 1;
    await expect(connection.executeQuery('SELECT $1, $2', { parameters: holes })).rejects.toThrow('parameter 1: ');
    const most = Array.from({ length: 65_536 }, () => 1);
    await expect(connection.executeQuery('SELECT 1', { parameters: most })).rejects.toThrow('at most 65535');
    const bytes = Uint8Array.of(1, 2);
    const parameters = [bytes, 'before'];
    const stream = connection.executeQueryStream('SELECT $1 AS b, $2 AS t', { parameters });
    bytes[0] = 9;
    parameters[1] = 'after';
    for await (const row of stream) expect(row).toEqual({ b: Uint8Array.of(1, 2), t: 'before' });
    expect(() => typed('int' as never, 1)).toThrow(expect.objectContaining({ code: 'BB_INVALID_ARGUMENT' }));
  });

  test('are not for engines without SQL', async () => {
    await using plain = await connect('memory:');
    await plain.createTable(new TableDefinition('t', [{ name: 'x', type: SqlType.int() }]));
    expect(await plain.executeQuery('SELECT x FROM t', { parameters: [] })).toEqual([]);
    const uses = [
      () => plain.executeQuery('SELECT x FROM t', { parameters: [1] }),
      () => plain.execute('DELETE', { parameters: [1] }),
      () => plain.prepare('SELECT x FROM t'),
    ];
    for (const use of uses) await expect(use()).rejects.toMatchObject({ code: 'BB_UNSUPPORTED' });
  });
});

describe('prepared statements', () => {
  test('are run again and again, with other values and in every lane', async () => {
    await connection.execute('CREATE TABLE t (id INTEGER, moment TIMESTAMP, note VARCHAR)');
    await using insert = await connection.prepare('INSERT INTO t VALUES ($1, $2, $3)');
    expect(insert.parameterTypes).toEqual([SqlType.int(), SqlType.timestamp(), SqlType.text()]);
    for (let id = 0; id < 100; id++) {
      expect(await insert.execute([id, new Date(id), id % 2 === 0 ? null : `note ${id}`])).toBe(1);
    }
    await using select = await connection.prepare('SELECT moment, note FROM t WHERE id = $1');
    for (const id of [3, 99, 0]) {
      const [row] = await select.executeQuery<{ moment: bigint; note: string | null }>([id]);
      expect(dateFromMicros(row!.moment)).toEqual(new Date(id));
      expect(row!.note).toBe(id % 2 === 0 ? null : `note ${id}`);
      expect(await select.executeQuery([id], { int64: 'number' })).toMatchObject([{ moment: id * 1000 }]);
    }
    expect(await select.executeQuery([100])).toEqual([]);
    expect((await select.executeQueryStream([1]).columns()).map(({ name }) => name)).toEqual(['moment', 'note']);
    await using remove = await connection.prepare('DELETE FROM t WHERE id < $1');
    expect(await remove.execute([10])).toBe(10);
    expect(await remove.execute([10])).toBe(0);
  });

  test('may be run many times at once, alongside streams that are not read', async () => {
    await using statement = await connection.prepare('SELECT $1 + range AS x FROM range($2)');
    const unread = Array.from({ length: 5 }, (_, index) =>
      statement.executeQueryStream<{ x: bigint }>([index, 300_000], { batchRows: 100 })[Symbol.asyncIterator](),
    );
    const firsts = await Promise.all(unread.map((stream) => stream.next()));
    expect(firsts.map(({ value }) => value?.x)).toEqual([0n, 1n, 2n, 3n, 4n]);
    const results = await Promise.all(
      Array.from({ length: 30 }, (_, index) => statement.executeQuery<{ x: bigint }>([index * 1000, 50])),
    );
    for (const [index, rows] of results.entries()) {
      expect(rows).toHaveLength(50);
      expect(rows[49]!.x).toBe(BigInt(index * 1000 + 49));
    }
    expect((await unread[3]!.next()).value?.x).toBe(4n);
    for (const stream of unread) await stream.return!();
  });

  test('after close everything is BB_CLOSED, and what ran has ended', async () => {
    const statement = await connection.prepare(SILENT);
    const stream = statement.executeQueryStream([42]);
    const running = [
      statement.executeQuery([42]),
      statement.executeQueryToArrow([42]),
      statement.execute([42]),
      stream[Symbol.asyncIterator]().next(),
    ].map((work) => expect(work).rejects.toMatchObject({ code: 'BB_CLOSED' }));
    await sleep(30);
    await Promise.all([statement.close(), statement.close()]);
    await Promise.all(running);
    await statement.close();
    const uses = [
      () => statement.execute([1]),
      () => statement.executeQuery([1]),
      () => statement.executeQueryToArrow([1]),
      () => statement.executeQueryStream([1])[Symbol.asyncIterator]().next(),
      () => statement.executeQueryColumnar([1])[Symbol.asyncIterator]().next(),
    ];
    for (const use of uses) {
      await expect(use()).rejects.toMatchObject({ code: 'BB_CLOSED', message: 'the prepared statement is closed' });
    }
    expect(handlesOf(connection).size).toBe(0);
    expect(await connection.executeQuery('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  test('close with their connection, which others of the engine outlive', async () => {
    const other = attach(connection.share());
    const statement = await connection.prepare(SILENT);
    const ended = expect(statement.executeQuery([42])).rejects.toMatchObject({ code: 'BB_CLOSED' });
    await sleep(20);
    const preparing = connection.prepare('SELECT 1').then((late) => late.executeQuery());
    const refused = expect(preparing).rejects.toMatchObject({ code: 'BB_CLOSED' });
    await connection.close();
    await Promise.all([ended, refused]);
    await expect(statement.executeQuery([42])).rejects.toMatchObject({ code: 'BB_CLOSED' });
    await expect(connection.prepare('SELECT 1')).rejects.toMatchObject({ code: 'BB_CLOSED' });
    expect(await other.executeQuery('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await other.close();
  });

  test('are cancelled by signals, and run again', async () => {
    await using statement = await connection.prepare(SILENT);
    const runs: ((signal: AbortSignal) => Promise<unknown>)[] = [
      (signal) => statement.executeQuery([42], { signal }),
      (signal) => statement.executeQueryToArrow([42], { signal }),
      (signal) => statement.execute([42], { signal }),
      (signal) => statement.executeQueryColumnar([42], { signal })[Symbol.asyncIterator]().next(),
    ];
    for (const run of runs) {
      const abort = new AbortController();
      const ended = expect(run(abort.signal)).rejects.toMatchObject({ code: 'BB_ABORTED', cause: 'enough' });
      await sleep(30);
      abort.abort('enough');
      await ended;
      expect(getEventListeners(abort.signal, 'abort')).toEqual([]);
    }
    await expect(connection.prepare('SELECT 1', { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'BB_ABORTED',
    });
  });
});
