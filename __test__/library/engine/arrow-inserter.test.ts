import { readFileSync } from 'node:fs';
import * as flechette from '@uwdata/flechette';
import { tableFromArrays, tableToIPC } from 'apache-arrow';
import { describe, expect, test } from 'vitest';

import { ArrowInserter, connect, type Connection, SqlType, TableDefinition } from '../../../src/index.js';

/** A file of `__test__/fixtures/arrow`, which pyarrow, pandas or polars wrote; see `make.py` there. */
const fixture = (name: string): Uint8Array => readFileSync(new URL(`../../fixtures/arrow/${name}`, import.meta.url));

const LONG = 'a text that is longer than twelve bytes';
const text = (value: string): Uint8Array => new TextEncoder().encode(value);
const micros = (iso: string): bigint => BigInt(Date.parse(iso)) * 1000n;
const days = (iso: string): number => Date.parse(iso) / 86_400_000;

/** The columns of `types.arrows`: the type of ours that holds one, the first and the last value. The second is null. */
const COLUMNS: [name: string, type: SqlType, first: unknown, last: unknown][] = [
  ['int8', SqlType.smallInt(), -128, 127],
  ['uint8', SqlType.smallInt(), 0, 255],
  ['uint16', SqlType.int(), 0, 65_535],
  ['uint32', SqlType.bigInt(), 0n, 4_294_967_295n],
  ['uint64', SqlType.decimal(20, 0), '0', '18446744073709551615'],
  ['float16', SqlType.real(), 1.5, 65_504],
  ['decimal32', SqlType.decimal(7, 2), '-1.25', '99999.99'],
  ['decimal64', SqlType.decimal(16, 3), '-1.125', '9999999999999.999'],
  ['decimal256', SqlType.decimal(38, 4), '-1.5000', '1234567890123456789012345678.2500'],
  ['large_string', SqlType.text(), 'a', LONG],
  ['string_view', SqlType.text(), 'a', LONG],
  ['large_binary', SqlType.bytes(), text('a'), text(LONG)],
  ['binary_view', SqlType.bytes(), text('a'), text(LONG)],
  ['fixed', SqlType.bytes(), text('abcd'), Uint8Array.of(255, 254, 0, 1)],
  ['date64', SqlType.date(), days('2024-02-29'), days('9999-12-31')],
  ['seconds', SqlType.timestamp(), micros('2024-02-29T12:30:15Z'), micros('0001-01-01T00:00:00Z')],
  ['millis', SqlType.timestamp(), micros('2024-02-29T12:30:15.123Z'), micros('0001-01-01T00:00:00Z')],
  ['nanos', SqlType.timestamp(), micros('2024-02-29T12:30:15Z') + 123_456n, -1n],
  ['utc', SqlType.timestamp(), micros('2024-02-29T12:30:15Z') + 123_456n, micros('0001-01-01T00:00:00Z')],
  ['berlin', SqlType.timestamp(), micros('2024-02-29T12:30:15Z') + 123_456n, micros('2024-07-01T00:00:00Z')],
  ['nothing', SqlType.int(), null, null],
  ['words', SqlType.text(), 'x', 'x'],
  ['numbers', SqlType.smallInt(), 7, 7],
  ['runs', SqlType.text(), 'r', null],
];

/** The columns of the tables that JavaScript writes. */
const ROWS: [name: string, type: SqlType][] = [
  ['i', SqlType.int()],
  ['s', SqlType.text()],
];

async function inserted(
  connection: Connection,
  columns: readonly (readonly [string, SqlType, ...unknown[]])[],
  ...given: Uint8Array[]
): Promise<Record<string, unknown>[]> {
  const definition = new TableDefinition(
    't',
    columns.map(([name, type]) => ({ name, type })),
  );
  await connection.createTable(definition, { mode: 'replace' });
  await using inserter = new ArrowInserter(connection, definition);
  for (const bytes of given) inserter.insert(bytes);
  await inserter.execute();
  return connection.executeQuery(`SELECT ${columns.map(([name]) => `"${name}"`).join(', ')} FROM t`);
}

describe.each(['memory:', 'embedded:', 'flight:'])('ArrowInserter into %s', (uri) => {
  const use = async (work: (connection: Connection) => Promise<void>): Promise<void> => {
    await using connection = await connect(uri);
    await work(connection);
  };

  test('stores all types of other programs that a column holds exactly', () =>
    use(async (connection) => {
      const rows = await inserted(connection, COLUMNS, fixture('types.arrows'));
      expect(rows).toHaveLength(3);
      for (const [name, , first, last] of COLUMNS) {
        const values = rows.map((row) => row[name]);
        expect([name, ...values]).toEqual([name, first, name === 'runs' ? 'r' : null, last]);
      }
    }));

  test('reads what pandas, polars and Arrow for JavaScript write', () =>
    use(async (connection) => {
      const pandas: [string, SqlType][] = [
        ['i', SqlType.int()],
        ['s', SqlType.text()],
        ['t', SqlType.timestamp()],
      ];
      expect(await inserted(connection, pandas, fixture('pandas.feather'))).toEqual([
        { i: 1, s: 'a', t: micros('2024-01-01T00:00:00Z') },
        { i: 2, s: null, t: null },
        { i: null, s: 'c', t: micros('2024-01-02T00:00:00Z') },
      ]);
      const polars: [string, SqlType][] = [
        ['i', SqlType.bigInt()],
        ['s', SqlType.text()],
        ['c', SqlType.text()],
      ];
      expect(await inserted(connection, polars, fixture('polars.arrow'))).toEqual([
        { i: 1n, s: 'a', c: 'x' },
        { i: 2n, s: null, c: 'y' },
        { i: null, s: LONG, c: 'x' },
      ]);
      const table = tableFromArrays({ i: Uint8Array.of(1, 2), s: ['a', 'b'] });
      for (const format of ['file', 'stream'] as const) {
        expect(await inserted(connection, ROWS, tableToIPC(table, format))).toEqual([
          { i: 1, s: 'a' },
          { i: 2, s: 'b' },
        ]);
      }
    }));

  test('reads what flechette writes: files, and runs whose ends may be null by their type', () =>
    use(async (connection) => {
      const runs = flechette.runEndEncoded(flechette.int32(), flechette.utf8());
      const table = flechette.tableFromColumns({
        i: flechette.columnFromArray([1, 2, 3], flechette.int32()),
        s: flechette.columnFromArray(['a', 'a', 'b'], runs),
      });
      for (const format of ['file', 'stream'] as const) {
        expect(await inserted(connection, ROWS, flechette.tableToIPC(table, { format })!)).toEqual([
          { i: 1, s: 'a' },
          { i: 2, s: 'a' },
          { i: 3, s: 'b' },
        ]);
      }
    }));
});
