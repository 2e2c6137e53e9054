import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { Frame } from '../../../src/library/engine/frame.js';
import { RowReader } from '../../../src/library/engine/row-reader.js';
import { type RowInput, RowStager } from '../../../src/library/engine/row-stager.js';
import { SqlType } from '../../../src/library/engine/sql-type.js';
import { type Column, TableDefinition } from '../../../src/library/engine/table-definition.js';
import { detached } from '../../detached.js';
import { columns, givenArray, givenObject, returnedObject, rowsOfSamples } from '../all-types.js';
import { encodeFrame } from '../frame-encoder.js';

/** The staged rows, read back. */
function readBack(stager: RowStager, of: readonly Column[], generate = true) {
  return new RowReader(of, 'bigint', { generate }).read(new Frame(encodeFrame(stager.rows, stager.parts()), of));
}

const tableOf = (type: SqlType, nullable = true) => new TableDefinition('t', [{ name: 'c', type, nullable }]).columns;

describe.each([
  ['generated', true],
  ['interpreted', false],
])('%s code', (_, generate) => {
  test('rows of all types come back as they were staged, batch after batch', () => {
    fc.assert(
      fc.property(fc.array(rowsOfSamples, { maxLength: 3 }), fc.boolean(), (batches, asObjects) => {
        const stager = new RowStager(columns, 41, generate);
        for (const batch of batches) {
          for (const row of batch) expect(stager.add(asObjects ? givenObject(row) : givenArray(row))).toBe(false);
          expect(readBack(stager, columns, generate)).toEqual(batch.map(returnedObject));
          stager.reset();
        }
        expect(stager.rowCount).toBe(batches.flat().length);
      }),
      { numRuns: 60 },
    );
  });

  test('nothing remains of a row with a bad value, wherever the bad value stands', () => {
    fc.assert(
      fc.property(rowsOfSamples, fc.nat(columns.length - 1), fc.nat(40), (rows, column, position) => {
        fc.pre(rows.length > 0);
        const bad = rows[position % rows.length]!.map((sample) => sample.given);
        // Nulls before the bad value must be undone, too.
        for (let index = 0; index < column; index++) if (columns[index]!.nullable) bad[index] = null;
        bad[column] = Symbol('bad');
        const stager = new RowStager(columns, 100, generate);
        for (const row of rows.slice(0, position % rows.length)) stager.add(givenArray(row));
        expect(() => stager.add(bad)).toThrow('a symbol');
        for (const row of rows.slice(position % rows.length)) stager.add(givenArray(row));
        expect(readBack(stager, columns)).toEqual(rows.map(returnedObject));
      }),
      { numRuns: 60 },
    );
  });

  test('says when it is full: by rows, and by bytes of text', () => {
    const numbers = new RowStager(tableOf(SqlType.int()), 3, generate);
    expect([numbers.add([1]), numbers.add([2]), numbers.add([3])]).toEqual([false, false, true]);
    const text = new RowStager(tableOf(SqlType.text()), 1000, generate);
    expect([text.add(['a']), text.add(['é'.repeat(3 << 20)])]).toEqual([false, true]);
    expect(readBack(text, tableOf(SqlType.text()))[1]!['c']).toHaveLength(3 << 20);
  });

  test.each<[SqlType, unknown, string]>([
    [SqlType.bool(), 1, '1 is not a boolean'],
    [SqlType.smallInt(), 32_768, '32768 does not fit into 16 bits'],
    [SqlType.smallInt(), 0.5, '0.5 is not an integer'],
    [SqlType.int(), 2 ** 31, '2147483648 does not fit into 32 bits'],
    [SqlType.int(), Number.NaN, 'NaN is not an integer'],
    [SqlType.int(), Infinity, 'Infinity is not an integer'],
    [SqlType.int(), '7', '"7" is not a number'],
    [SqlType.int(), 7n, '7n is not a number'],
    [SqlType.int(), { valueOf: () => 7 }, 'an object is not a number'],
    [SqlType.int(), Symbol('s'), 'a symbol is not a number'],
    [SqlType.bigInt(), 2 ** 53, '9007199254740992 is not a safe integer; give it as a bigint'],
    [SqlType.bigInt(), 1.5, '1.5 is not an integer'],
    [SqlType.bigInt(), 2n ** 63n, '9223372036854775808n does not fit into 64 bits'],
    [SqlType.bigInt(), new Date(0), '1970-01-01T00:00:00.000Z is not a bigint or a number'],
    [SqlType.real(), 1e39, '1e+39 does not fit into a 32-bit float'],
    [SqlType.double(), '1', '"1" is not a number'],
    [SqlType.double(), 1n, '1n is not a number'],
    [SqlType.decimal(4, 2), '1.005', '"1.005" has more than the 2 digits that the column has behind the point'],
    [SqlType.decimal(4, 2), '100', '"100" has more digits than DECIMAL(4, 2)'],
    [SqlType.decimal(4, 2), 'ten', '"ten" is not a decimal number'],
    [SqlType.decimal(4, 2), '', '"" is not a decimal number'],
    [SqlType.decimal(4, 2), '1e999999', '"1e999999" has more digits than DECIMAL(4, 2)'],
    [SqlType.decimal(4, 2), Number.NaN, 'NaN is not a decimal number'],
    [SqlType.decimal(4, 2), true, 'true is not a string, a bigint or a number'],
    [SqlType.text(), 5, '5 is not a string'],
    [SqlType.text(), 'a\ud800', '"a\\ud800" has a lone surrogate, which UTF-8 cannot hold'],
    [SqlType.bytes(), [1, 2], 'an array is not a Uint8Array'],
    [SqlType.bytes(), new Uint16Array(1), 'a typed array is not a Uint8Array'],
    [SqlType.date(), new Date(1), '1970-01-01T00:00:00.001Z is not midnight UTC of a day'],
    [SqlType.date(), new Date(Number.NaN), 'an invalid Date is not midnight UTC of a day'],
    [SqlType.date(), 0.5, '0.5 is not an integer'],
    [SqlType.date(), '2020-01-01', '"2020-01-01" is not a number of days or a Date'],
    [SqlType.timestamp(), new Date(Number.NaN), 'the Date is invalid'],
    [SqlType.timestamp(), 'now', '"now" is not a bigint or a number of microseconds or a Date'],
  ])('%s refuses %s', (type, value, problem) => {
    const stager = new RowStager(tableOf(type), 10, generate);
    stager.add([null]);
    expect(() => stager.add([value])).toThrow(
      expect.objectContaining({
        code: 'BB_INVALID_VALUE',
        message: `row 1, column "c": ${problem}`,
      }),
    );
    expect(stager.rows).toBe(1);
  });

  test('a decimal takes every bigint that it holds', () => {
    const of = tableOf(SqlType.decimal(38, 0));
    const stager = new RowStager(of, 10, generate);
    for (const value of [2n ** 64n - 1n, 1n - 10n ** 38n]) stager.add([value]);
    expect(readBack(stager, of)).toEqual([{ c: '18446744073709551615' }, { c: `-${'9'.repeat(38)}` }]);
  });

  test('null and undefined are refused in NOT NULL columns', () => {
    const stager = new RowStager(tableOf(SqlType.int(), false), 10, generate);
    for (const row of [[null], [undefined], { c: null }, {}]) {
      expect(() => stager.add(row)).toThrow('row 0, column "c": null in a NOT NULL column');
    }
  });

  test('rows that are no rows are refused', () => {
    const stager = new RowStager(tableOf(SqlType.int()), 10, generate);
    expect(() => stager.add([])).toThrow('row 0: 0 values were given for the 1 columns of the table');
    expect(() => stager.add([1, 2])).toThrow('row 0: 2 values were given for the 1 columns of the table');
    for (const row of [null, undefined, 5, 'row', 5n]) {
      expect(() => stager.add(row as unknown as RowInput)).toThrow(/^row 0: .* is neither an array nor an object/);
    }
    expect(stager.rows).toBe(0);
  });

  test('a detached Uint8Array is refused', () => {
    const stager = new RowStager(tableOf(SqlType.bytes()), 10, generate);
    expect(() => stager.add([detached(new Uint8Array(4))])).toThrow('the memory of the Uint8Array is detached');
    expect(stager.add([new Uint8Array(0)])).toBe(false);
  });

  test('a getter that adds a row of its own mixes no rows', () => {
    const of = new TableDefinition('t', [
      { name: 'a', type: SqlType.int() },
      { name: 'b', type: SqlType.int() },
    ]).columns;
    const stager = new RowStager(of, 10, generate);
    stager.add({
      a: 1,
      get b() {
        stager.add([3, null]);
        return 2;
      },
    });
    expect(readBack(stager, of)).toEqual([
      { a: 3, b: null },
      { a: 1, b: 2 },
    ]);
  });
});
