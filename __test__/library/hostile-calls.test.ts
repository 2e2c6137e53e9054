/**
 * Every function, constructor and method of the package is called with values that it does not expect: each call is refused by a
 * `BoundaryError` with a code of its own, or gives a result. Nothing throws anything else, crashes or hangs.
 */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import * as bench from '../../src/bench.js';
import * as library from '../../src/index.js';
import { sampleRun } from '../records/sample-run.js';
import {
  type Entries,
  hostileTests,
  hostileValues,
  membersOf,
  method,
  none,
  problemOf,
  settle,
} from './hostile-values.js';
import { errorWith } from '../error-with.js';
import { folderOfSuite } from '../temporary-folder.js';

/** The names of all functions that are called here, by which the last tests find those that are missing. */
const called = new Set<string>();

const { SqlType, TableDefinition, RowInserter, ArrowInserter, ShardRow } = library;
const table = new TableDefinition('t', [
  { name: 'i', type: SqlType.int() },
  { name: 's', type: SqlType.text() },
]);
const names = { measurement: 'm', tags: { t: 'v' }, field: 'f' };
const lines = (): unknown[] => ['m v=1 1', { precision: 'ns', now: 1 }];
const series = (): unknown[] => [names, Float64Array.of(1), BigInt64Array.of(1n)];
const encoded = library.encodeColumns(names, Float64Array.of(1), BigInt64Array.of(1n));
const row = (): object => ({ key: 1n, quantity: 1, price: 1, updatedAt: 1n, payload: new Uint8Array(3) });
const json = new TextEncoder().encode('{"a":[1],"data":[[1]]}');
const limits = (): object => ({ signal: new AbortController().signal, timeoutMs: 10_000 });

const { LineEncoder, RowsEncoder, ColumnsEncoder } = library;
const ENCODERS = { LineEncoder, RowsEncoder, ColumnsEncoder };

describe('pure functions and codecs', () => {
  const type = SqlType as unknown as Record<string, () => unknown>;
  const entries: Entries = {
    dateFromDays: [() => [1], library.dateFromDays],
    dateFromMicros: [() => [1n], library.dateFromMicros],
    typed: [() => [SqlType.int(), 1], library.typed],
    shardOf: [() => [1, 3], library.shardOf],
    encodeColumns: [series, library.encodeColumns],
    encodeLines: [series, library.encodeLines],
    encodeRows: [series, library.encodeRows],
    decodeColumns: [() => [encoded], library.decodeColumns],
    parseLines: [lines, library.parseLines],
    ...Object.fromEntries(
      ['bool', 'smallInt', 'int', 'bigInt', 'real', 'double', 'text', 'bytes', 'date', 'timestamp'].map((name) => [
        `SqlType.${name}`,
        [none, () => type[name]!()] satisfies Entries[string],
      ]),
    ),
    'SqlType.decimal': [() => [10, 2], SqlType.decimal],
    'SqlType.toString': [none, () => SqlType.decimal(3, 1).toString()],
    BoundaryError: [() => ['BB_ENGINE', 'no', { hint: 'yes', cause: 1 }], construct('BoundaryError')],
    TableDefinition: [() => ['t', [{ name: 'a', type: SqlType.int(), nullable: true }]], construct('TableDefinition')],
    'a column of TableDefinition': [
      () => [{ name: 'a', type: SqlType.int(), nullable: true }],
      (column: never) => new TableDefinition('t', [column]),
    ],
    LineEncoder: [() => [names], construct('LineEncoder')],
    RowsEncoder: [() => [names], construct('RowsEncoder')],
    ColumnsEncoder: [() => [names], construct('ColumnsEncoder')],
    LineParser: [none, construct('LineParser')],
    ColumnsDecoder: [none, construct('ColumnsDecoder')],
    JsonPaths: [() => ['a.*'], construct('JsonPaths')],
    'a path of JsonPaths': [() => [{ path: 'a.*', type: 'number' }], construct('JsonPaths')],
    JsonRows: [() => ['data', '0'], construct('JsonRows')],
    ...Object.fromEntries(
      (Object.keys(ENCODERS) as (keyof typeof ENCODERS)[]).flatMap((name) => {
        const make = (): library.LineEncoder => new ENCODERS[name](names) as library.LineEncoder;
        const values = (): unknown[] => series().slice(1);
        return [
          [`${name}.encode`, [values, method(make, 'encode')]],
          [`${name}.encodeInto`, [() => [new Uint8Array(500), ...values()], method(make, 'encodeInto')]],
        ] as [string, Entries[string]][];
      }),
    ),
    'ColumnsEncoder.mostBytes': [() => [1], method(() => new library.ColumnsEncoder(names), 'mostBytes')],
    'ColumnsDecoder.decode': [() => [encoded], method(() => new library.ColumnsDecoder(), 'decode')],
    'LineParser.parse': [lines, method(() => new library.LineParser(), 'parse')],
    'JsonPaths.pick': [() => [json], method(() => new library.JsonPaths('a.*'), 'pick')],
    'JsonRows.feed': [() => [json], method(() => new library.JsonRows('data', '0'), 'feed')],
    'JsonRows.finish': [
      none,
      () => {
        const rows = new library.JsonRows('data', '0');
        rows.feed(json);
        rows.finish();
      },
    ],
    ShardRow: [() => [new Uint8Array(200)], construct('ShardRow')],
    'ShardRow.of': [() => [{ ...row(), key: 1, updatedAt: 1 }], (values: never) => ShardRow.of(values)],
    'ShardRow.set': [() => [row()], method(() => new ShardRow(), 'set')],
    'ShardRow.copy': [none, () => new ShardRow().copy()],
    workload: [
      () => ['w', { sizes: [1], ways: { 'js a': () => 1 }, noop: { 'js a': () => 1 }, tolerance: 0, description: 'd' }],
      bench.workload as (...args: never[]) => unknown,
    ],
    defineWorkload: [
      () => [
        {
          family: 'f',
          name: 'n',
          rows: 1,
          lanes: [{ lane: 'l', side: 'js', engine: 'e', variant: 'v' }],
          open: () => ({}),
        },
      ],
      bench.defineWorkload as (...args: never[]) => unknown,
    ],
  };
  hostileTests(entries);
  for (const name of Object.keys(entries)) called.add(name);

  test('run and the reports refuse what is no object of options, and no run', async () => {
    const problems: unknown[] = [];
    const look = async (call: () => unknown): Promise<void> => void problems.push(await problemOf(call, settle));
    for (const value of hostileValues()) {
      // Without an option that is wrong, it would measure everything.
      const isEmpty = typeof value === 'object' && value !== null && Object.keys(value).length === 0;
      if (value !== undefined && !isEmpty) await look(() => bench.run(value as object));
      await look(() => bench.run({ families: value as [], rows: -1 }));
      await look(() => bench.renderRunMarkdown(value as bench.Run));
      await look(() => bench.renderRunTerminal(value as bench.Run));
      await look(() => bench.compareRuns(value as bench.Run, { ...sampleRun(), records: value as [] }));
    }
    expect(problems.filter((problem) => problem !== undefined)).toEqual([]);
  });

  test.each([
    'families',
    'directory',
    'resume',
    'signal',
    'onEvent',
    'collectGarbage',
    'fallbacks',
    'filters',
    'engines',
    'apiKeys',
  ])('run refuses a wrong value of %s', async (name) => {
    for (const value of [null, 5, 'a\ud800', Symbol('odd'), new Map(), [5]]) {
      await expect(bench.run({ rows: -1, [name]: value })).rejects.toThrow(errorWith('BB_INVALID_ARGUMENT', name));
    }
  });
  for (const name of ['run', 'renderRunMarkdown', 'renderRunTerminal']) called.add(name);
});

/** The call that makes an object of an exported class. */
function construct(name: keyof typeof library): (...args: never[]) => unknown {
  const Class = (library as unknown as Record<string, new (...args: never[]) => unknown>)[name]!;
  return (...args) => new Class(...args);
}

describe('engines', () => {
  let connection: library.Connection;
  let memory: library.Connection;
  let statement: library.PreparedStatement;
  let pool: library.ConnectionPool;
  let chunk: library.ColumnarChunk;
  const folder = folderOfSuite();
  const sql = 'SELECT 1 AS i, $1::INT AS p';
  const query = (): unknown[] => [
    'SELECT $1::INT AS p',
    { parameters: [1], int64: 'bigint', batchRows: 10, readAhead: true, ...limits() },
  ];
  const run = (): unknown[] => [[1], { int64: 'number', batchRows: 10, ...limits() }];

  const before = process.cwd();
  beforeAll(async () => {
    // A hostile text may name a folder that is made.
    process.chdir(folder);
    connection = await library.connect('embedded:');
    memory = await library.connect('memory:');
    for (const each of [connection, memory]) await each.createTable(table);
    statement = await connection.prepare(sql);
    pool = library.createPool('memory:', { max: 4 });
    for await (const read of connection.executeQueryColumnar("SELECT 1 AS i, 'x' AS s")) chunk = read;
  });
  afterAll(async () => {
    await pool.close();
    await statement.close();
    await connection.close();
    await memory.close();
    process.chdir(before);
  });

  const inserting = (use: (inserter: library.RowInserter, ...args: never[]) => unknown) =>
    (async (...args: never[]) => {
      await using inserter = new RowInserter(memory, table);
      await use(inserter, ...args);
    }) as (...args: never[]) => unknown;
  const entries: Entries = {
    connect: [() => ['memory:'], library.connect],
    attach: [() => [connection.share()], library.attach],
    createPool: [
      () => ['memory:', { max: 2, min: 0, acquireTimeoutMs: 1000, idleTimeoutMs: 1000, checkAfterMs: 10 }],
      library.createPool,
    ],
    'Connection.createTable': [() => [table, { mode: 'replace' }], method(() => memory, 'createTable')],
    'Connection.describeTable': [() => ['t'], method(() => connection, 'describeTable')],
    'Connection.listTables': [none, method(() => connection, 'listTables')],
    'Connection.dropTable': [() => ['none'], method(() => connection, 'dropTable')],
    'Connection.execute': [
      () => ['SELECT $1::INT', { parameters: [1], ...limits() }],
      method(() => connection, 'execute'),
    ],
    'Connection.executeQuery': [query, method(() => connection, 'executeQuery')],
    'Connection.executeQueryStream': [query, method(() => connection, 'executeQueryStream')],
    'Connection.executeQueryColumnar': [query, method(() => connection, 'executeQueryColumnar')],
    'Connection.executeQueryToArrow': [query, method(() => connection, 'executeQueryToArrow')],
    'Connection.prepare': [() => [sql, limits()], method(() => connection, 'prepare')],
    'Connection.share': [none, method(() => connection, 'share')],
    'Connection.close': [none, async () => (await library.connect('memory:')).close()],
    'PreparedStatement.execute': [() => [[1], limits()], method(() => statement, 'execute')],
    'PreparedStatement.executeQuery': [run, method(() => statement, 'executeQuery')],
    'PreparedStatement.executeQueryStream': [run, method(() => statement, 'executeQueryStream')],
    'PreparedStatement.executeQueryColumnar': [run, method(() => statement, 'executeQueryColumnar')],
    'PreparedStatement.executeQueryToArrow': [run, method(() => statement, 'executeQueryToArrow')],
    'PreparedStatement.close': [none, async () => (await connection.prepare(sql)).close()],
    'ConnectionPool.acquire': [() => [limits()], method(() => pool, 'acquire')],
    'ConnectionPool.use': [
      () => [() => 1, limits()],
      // An error of the caller's function is the caller's.
      (work: never, options: never) => pool.use(typeof work === 'function' ? () => 1 : work, options),
    ],
    'ConnectionPool.close': [() => [{ force: true }], (options: never) => library.createPool('memory:').close(options)],
    'PooledConnection.discard': [none, async () => (await pool.acquire()).discard()],
    RowInserter: [() => [memory, table, { batchRows: 10 }], construct('RowInserter')],
    ArrowInserter: [() => [memory, table], construct('ArrowInserter')],
    'RowInserter.addRow': [() => [{ i: 1, s: 'x' }], inserting((inserter, row) => inserter.addRow(row))],
    'RowInserter.addRow of an array': [() => [[1, 'x']], inserting((inserter, row) => inserter.addRow(row))],
    'RowInserter.addRows': [() => [[[1, 'x']]], inserting((inserter, rows) => inserter.addRows(rows))],
    'RowInserter.addColumns': [
      () => [{ i: Int32Array.of(1), s: ['x'] }],
      inserting((inserter, columns) => inserter.addColumns(columns)),
    ],
    'RowInserter.addColumns with validity': [
      () => [{ values: Int32Array.of(1), validity: Uint8Array.of(1) }],
      inserting((inserter, i: never) => inserter.addColumns({ i, s: ['x'] })),
    ],
    'RowInserter.addColumns with offsets': [
      () => [{ values: Uint8Array.of(97), offsets: Int32Array.of(0, 1), validity: null }],
      inserting((inserter, s: never) => inserter.addColumns({ i: [1], s })),
    ],
    'RowInserter.writer': [
      () => [1, 'x'],
      inserting((inserter, i, s) => {
        const writer = inserter.writer<{ i: unknown; s: unknown }>();
        writer.i = i;
        writer.s = s;
        writer.next();
      }),
    ],
    'RowInserter.drain': [none, inserting((inserter) => inserter.drain())],
    'RowInserter.execute': [none, inserting((inserter) => inserter.execute())],
    'RowInserter.abort': [none, inserting((inserter) => inserter.abort())],
    ...Object.fromEntries(
      (['insert', 'drain', 'execute', 'abort'] as const).map((name) => [
        `ArrowInserter.${name}`,
        [
          name === 'insert' ? () => [new Uint8Array(0)] : none,
          async (bytes: never) => {
            await using inserter = new ArrowInserter(memory, table);
            await inserter[name](bytes);
          },
        ] satisfies Entries[string],
      ]),
    ),
    ...Object.fromEntries(
      (['column', 'validity', 'nullCount', 'values'] as const).map((name) => [
        `ColumnarChunk.${name}`,
        [() => ['i'], (column: never) => chunk[name](column)] satisfies Entries[string],
      ]),
    ),
    'ColumnarChunk.offsets': [() => ['s'], (column: never) => chunk.offsets(column)],
    'ColumnarChunk.row': [() => [0], (index: never) => chunk.row(index)],
    'ColumnarChunk.rows': [none, () => [...chunk.rows()].length],
    'ColumnarChunk.release': [none, () => {}],
    'RowStream.columns': [none, () => connection.executeQueryStream('SELECT 1 AS i').columns()],
    'RowStream.chunks': [none, () => connection.executeQueryStream('SELECT 1 AS i').chunks()],
    'RowStream.cursor': [none, () => connection.executeQueryStream('SELECT 1 AS i').cursor()],
    'ColumnarStream.columns': [none, () => connection.executeQueryColumnar('SELECT 1 AS i').columns()],
    'ShardStore.inMemory': [none, library.ShardStore.inMemory],
    'ShardStore.open': [() => [join(folder, 'shard'), 0, 1], library.ShardStore.open],
    'ShardStore.close': [none, () => library.ShardStore.inMemory().close()],
  };
  hostileTests(entries);
  for (const name of Object.keys(entries)) called.add(name);

  test('no function of an engine is left out', () => {
    const live = { Connection: connection, PreparedStatement: statement, ConnectionPool: pool, ColumnarChunk: chunk };
    for (const [name, object] of Object.entries(live)) {
      for (const member of membersOf(object)) expect([...called, 'ColumnarChunk.has']).toContain(`${name}.${member}`);
    }
  });
});

test('no export is left out', () => {
  const elsewhere = 'HttpClient KvClient ShardClient ShardStore SqlClient SqlType createWorkers'.split(' ');
  const functions = Object.entries(library).filter(([, value]) => typeof value === 'function');
  const known = new Set([...called, ...elsewhere]);
  expect(functions.filter(([name]) => !known.has(name))).toEqual([]);
  const { JsonPaths, JsonRows, LineParser, ColumnsDecoder, ShardStore } = library;
  const classes = { ArrowInserter, RowInserter, ShardRow, SqlType, TableDefinition, JsonPaths, JsonRows, LineParser };
  const all = Object.entries({ ...classes, ...ENCODERS, ColumnsDecoder, ShardStore }).flatMap(([name, Class]) => {
    const members = [...membersOf(Class), ...membersOf(Object.create(Class.prototype as object) as object)];
    return members.map((member) => `${name}.${member}`);
  });
  expect(all.filter((name) => name !== 'SqlType.fromSpec' && !called.has(name))).toEqual([]);
});
