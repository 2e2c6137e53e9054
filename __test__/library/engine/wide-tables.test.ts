/** Tables and results of very many columns take memory and time by what they hold, and not by the rows that a batch may have. */
import { afterEach, describe, expect, test } from 'vitest';

import { connect, type Connection, RowInserter, SqlType, TableDefinition } from '../../../src/index.js';

const COLUMNS = 10_000;
const NAMES = Array.from({ length: COLUMNS }, (_, index) => `c${index}`);

/** The most that a stage may take. The rows of a batch of the default size would take gigabytes. */
const MOST_STAGE_BYTES = 64 << 20;

let connection: Connection | undefined;
afterEach(() => connection?.close());

function tableOf(type: SqlType): TableDefinition {
  return new TableDefinition(
    't',
    NAMES.map((name) => ({ name, type })),
  );
}

/** The milliseconds of some work: the least of several turns, since what runs beside it may delay one. */
async function timeOf(work: () => unknown, turns = 1): Promise<number> {
  let least = Infinity;
  for (let turn = 0; turn < turns; turn += 1) {
    const start = performance.now();
    await work();
    least = Math.min(least, performance.now() - start);
  }
  return least;
}

describe.each<[string, SqlType, (column: number) => unknown]>([
  ['DOUBLE', SqlType.double(), (column) => column / 2],
  ['DECIMAL', SqlType.decimal(38, 2), (column) => `${column}.25`],
  ['VARCHAR', SqlType.text(), (column) => `v${column}`],
  ['BLOB', SqlType.bytes(), (column) => Uint8Array.of(column & 255)],
])('10,000 columns of %s', (_, type, valueOf) => {
  const row = NAMES.map((_name, column) => valueOf(column));
  const asObject = Object.fromEntries(NAMES.map((name, column) => [name, row[column]]));

  test.each([undefined, 1 << 22])('are staged in little memory, by batchRows %s', async (batchRows) => {
    connection = await connect('memory:');
    const table = tableOf(type);
    await connection.createTable(table);
    const before = process.memoryUsage().arrayBuffers;
    const inserter = new RowInserter(connection, table, { batchRows });
    inserter.addRow(row);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(MOST_STAGE_BYTES);
    inserter.addRow(asObject);
    const writer = inserter.writer();
    for (const name of NAMES) writer[name] = asObject[name];
    writer.next();
    inserter.addColumns(Object.fromEntries(NAMES.map((name) => [name, [asObject[name]]])));
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(3 * MOST_STAGE_BYTES);
    expect(await inserter.execute()).toBe(4);
    const read = await connection.executeQuery('SELECT * FROM t');
    expect(read).toHaveLength(4);
    for (const one of read) expect(one).toEqual(asObject);
  });
});

test('rows of many columns are sent before they take much memory, and arrive in their order', async () => {
  connection = await connect('memory:');
  const table = tableOf(SqlType.int());
  await connection.createTable(table);
  const inserter = new RowInserter(connection, table);
  const rows = 1000;
  for (let row = 0; row < rows; row++) inserter.addRow(NAMES.map(() => row));
  expect(await inserter.execute()).toBe(rows);
  let next = 0;
  for await (const chunk of connection.executeQueryColumnar('SELECT * FROM t')) {
    const first = chunk.column<Int32Array>('c0');
    const last = chunk.column<Int32Array>(`c${COLUMNS - 1}`);
    for (let index = 0; index < chunk.rowCount; index++, next++)
      expect([first[index], last[index]]).toEqual([next, next]);
    chunk.release();
  }
  expect(next).toBe(rows);
});

test('10,000 equal column names take no longer than as many different ones', async () => {
  const open = (connection = await connect('embedded:'));
  const of = (name: (column: number) => string): string =>
    `SELECT ${NAMES.map((_, column) => `1 AS ${name(column)}`).join(', ')}`;
  const read = async (sql: string): Promise<void> => {
    const [row] = await open.executeQuery(sql);
    expect(Object.keys(row!)).toHaveLength(COLUMNS);
    await open.executeQueryToArrow(sql);
    await open.prepare(sql);
  };
  const different = await timeOf(() => read(of((column) => `a${column}`)));
  expect(await timeOf(() => read(of(() => 'a')))).toBeLessThan(3 * different + 500);
});

test('a batch of a wide result stays small', async () => {
  const open = (connection = await connect('embedded:'));
  const list = Array.from({ length: 2000 }, (_, column) => `range + ${column}.5::DOUBLE AS c${column}`).join(', ');
  let rows = 0;
  for await (const chunk of open.executeQueryColumnar(`SELECT ${list} FROM range(10000)`)) {
    expect(chunk.rowCount * 2000 * 8).toBeLessThanOrEqual(64 << 20);
    expect(chunk.column<Float64Array>('c1999')[0]).toBe(rows + 1999.5);
    rows += chunk.rowCount;
    chunk.release();
  }
  expect(rows).toBe(10_000);
});

test('a column is found by its name in the same time, however many there are', async () => {
  const open = (connection = await connect('memory:'));
  const table = tableOf(SqlType.bool());
  await open.createTable(table);
  const inserter = new RowInserter(open, table);
  inserter.addRow(NAMES.map((_, column) => column % 2 === 0));
  await inserter.execute();
  for await (const chunk of open.executeQueryColumnar('SELECT * FROM t')) {
    const byIndex = await timeOf(() => NAMES.forEach((_, column) => chunk.nullCount(column)), 5);
    const byName = await timeOf(() => NAMES.forEach((name) => chunk.nullCount(name)), 5);
    expect(byName).toBeLessThan(10 * byIndex + 50);
    expect(() => chunk.column('none')).toThrow('the result has no column "none"');
  }
});
