/** Rows and names that are given by objects whose own properties are not what they hold. */
import { describe, expect, it } from 'vitest';

import {
  connect,
  encodeLines,
  encodeRows,
  RowInserter,
  ShardClient,
  ShardRow,
  ShardStore,
  SqlType,
  TableDefinition,
  decodeColumns,
  encodeColumns,
} from '../../../src/index.js';
import { RowStager } from '../../../src/library/engine/row-stager.js';
import { errorWith } from '../../error-with.js';

const COLUMNS = [
  { name: 'id', type: SqlType.int(), nullable: true },
  { name: 'note', type: SqlType.text(), nullable: true },
] as const;

class Holder {
  get id(): number {
    return 1;
  }
  get note(): string {
    return 'one';
  }
}

const REFUSED: [string, object][] = [
  ['a Map', new Map<string, unknown>([['id', 1], ['note', 'one']])], // prettier-ignore
  ['a Set', new Set([1, 'one'])],
  ['URLSearchParams', new URLSearchParams('id=1')],
  ['a promise', Promise.resolve({ id: 1, note: 'one' })],
  ['a Date', new Date()],
  ['a boxed number', Object(5)],
  ['other names', { ID: 1, Note: 'one' }],
  ['a WeakMap', new WeakMap()],
];

describe('a row by name', () => {
  it.each(REFUSED)('is refused, and not stored as nulls, as %s', async (_, row) => {
    await using connection = await connect('memory:');
    const table = new TableDefinition('t', COLUMNS);
    await connection.createTable(table);
    await using inserter = new RowInserter(connection, table);
    inserter.addRow({ id: 0, note: 'zero' });
    expect(() => inserter.addRow(row as Record<string, unknown>)).toThrow(errorWith('BB_INVALID_VALUE', 'row 1: '));
    expect(() => inserter.addRows([row as Record<string, unknown>])).toThrow('row 1: ');
    inserter.addRow(new Holder() as unknown as Record<string, unknown>);
    inserter.addRow({});
    inserter.addRow({ id: undefined, other: 5 });
    inserter.addRow({ note: 'alone' });
    expect(await inserter.execute()).toBe(5);
    expect(await connection.executeQuery('SELECT id, note FROM t')).toEqual([
      { id: 0, note: 'zero' },
      { id: 1, note: 'one' },
      { id: null, note: null },
      { id: null, note: null },
      { id: null, note: 'alone' },
    ]);
  });

  it.each([true, false])('is refused as a Map even for a column that a Map has (code is generated: %s)', (generate) => {
    const columns = [{ name: 'size', type: SqlType.int(), nullable: true }];
    const stager = new RowStager(columns, 8, generate);
    expect(() => stager.add(new Map([['size', 5]]) as unknown as Record<string, unknown>)).toThrow('row 0: ');
    stager.add({ size: 5 });
    const other = new RowStager(COLUMNS, 8, generate);
    for (const [, row] of REFUSED) expect(() => other.add(row as Record<string, unknown>)).toThrow('row 0: ');
    expect([stager.rows, other.rows]).toEqual([1, 0]);
  });
});

describe('the tags of a series', () => {
  const values = Float64Array.of(1.5);
  const names = (tags: unknown) => ({ measurement: 'm', tags: tags as Record<string, string>, field: 'f' });

  it('may come from a Map, from Headers and from pairs, too', () => {
    const lines = (tags: unknown): string => Buffer.from(encodeLines(names(tags), values)).toString();
    const expected = lines({ a: 'x', b: 'y' });
    expect(expected).toContain('m,a=x,b=y');
    const pairs = [['a', 'x'], ['b', 'y']] as [string, string][]; // prettier-ignore
    for (const tags of [new Map(pairs), pairs, new Headers(pairs), pairs.flat()]) {
      expect(lines(tags)).toBe(expected);
      expect(decodeColumns(encodeColumns(names(tags), values)).tags).toEqual({ a: 'x', b: 'y' });
      expect(encodeRows(names(tags), values)).toEqual(encodeRows(names({ a: 'x', b: 'y' }), values));
    }
  });

  it.each([
    ['an instance with getters', new Holder()],
    ['a promise', Promise.resolve({ a: 'x' })],
    ['a text', 'a=x'],
    ['null', null],
    ['a name without a value', ['a']],
    ['a number', 5],
  ])('are refused, and not dropped, as %s', (_, tags) => {
    const refused = errorWith('BB_INVALID_ARGUMENT');
    expect(() => encodeLines(names(tags), values)).toThrow(refused);
    expect(() => encodeColumns(names(tags), values)).toThrow(refused);
    expect(() => encodeRows(names(tags), values)).toThrow(refused);
  });
});

describe('a row of a shard', () => {
  const values = { key: 1n, quantity: 2, price: 3, updatedAt: 4n, payload: new Uint8Array(3) };

  it.each([
    ['quantity', 2 ** 31],
    ['quantity', 1.5],
    ['quantity', undefined],
    ['quantity', new Map()],
    ['key', 2n ** 63n],
    ['key', -(2n ** 63n) - 1n],
    ['price', undefined],
    ['price', 'much'],
    ['updatedAt', 2n ** 64n],
  ])('refuses a %s that it would store as another value: %s', (name, value) => {
    const row = ShardRow.of(values);
    const before = row.bytes.slice();
    expect(() => row.set({ ...values, key: 9n, [name]: value })).toThrow(errorWith('BB_INVALID_VALUE', name));
    expect(row.bytes).toEqual(before);
  });

  it('goes on when a call before it is refused', async () => {
    await using client = await ShardClient.connect([ShardStore.inMemory()]);
    const refused = [client.get(1.5), client.multiGet([1] as unknown as Int32Array), client.putMany(new Uint8Array(7))];
    const outcomes = Promise.allSettled(refused);
    await client.put(ShardRow.of(values));
    expect((await client.get(1))!.quantity).toBe(2);
    for (const outcome of await outcomes) expect(outcome.status).toBe('rejected');
  });

  it.each([
    ['a Map', new Map([['apiKey', 'k']])],
    ['null', null],
    ['a promise', Promise.resolve({})],
  ])('has a client that refuses options given as %s', async (_, options) => {
    await expect(ShardClient.connect([ShardStore.inMemory()], options as object)).rejects.toThrow(
      errorWith('BB_INVALID_ARGUMENT'),
    );
  });
});
