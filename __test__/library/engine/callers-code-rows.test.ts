import { deepEqual, equal } from 'node:assert/strict';
import { beforeAll, describe, expect, test } from 'vitest';

import {
  ArrowInserter,
  ColumnsDecoder,
  ColumnsEncoder,
  connect,
  JsonPaths,
  LineEncoder,
  LineParser,
  RowInserter,
  RowsEncoder,
  ShardClient,
  ShardRow,
  ShardStore,
  SqlType,
  TableDefinition,
} from '../../../src/index.js';
import { detached } from '../../detached.js';
import { takesCodeOfItsCaller, text } from '../callers-code.js';
import type { Watch } from '../watched-values.js';

describe('ShardClient', () => {
  const KEYS: Record<string, number> = { o: 1, i: 2, j: 3, a: 4, b: 5, c: 6, k: 7 };
  const seen = (mark: string): unknown => [BigInt(KEYS[mark]!), 7, `${mark}\0`];
  const valuesOf = ({ key, quantity, payload }: ShardRow): unknown => [
    key,
    quantity,
    Buffer.from(payload.subarray(0, 2)).toString(),
  ];
  takesCodeOfItsCaller(
    'put, get and their options',
    async () => {
      const client = await ShardClient.connect([ShardStore.inMemory(), ShardStore.inMemory()]);
      return {
        call: async (mark, watch) => {
          const values = { key: KEYS[mark]!, quantity: 7, price: 1.5, updatedAt: 9n, payload: text(mark) };
          const options = (): { signal: AbortSignal } => watch({ signal: new AbortController().signal });
          const put = client.put(ShardRow.of(watch(values)), options());
          await put;
          const key = KEYS[mark]!;
          using found = await client.multiGet(watch(Int32Array.of(key)), options());
          equal(found.found, 1);
          const { count } = await client.aggregate(
            watch({ column: 'quantity', filter: { column: 'key', comparison: '=', value: key } }),
          );
          equal(count, 1);
          return valuesOf((await client.get(key, options()))!);
        },
        close: () => client.close(),
      };
    },
    seen,
  );

  test('a row whose values are no numbers stays as it was', () => {
    const values = { key: 1n, quantity: 2, price: 3, updatedAt: 4n, payload: text('p') };
    const row = ShardRow.of(values);
    const before = row.bytes.slice();
    const gone = detached(new Uint8Array(3));
    for (const [change, problem] of [
      [{ key: 'x' }, 'key must be an integer of 64 bits'],
      [{ quantity: 5n }, 'quantity must be an integer of 32 bits'],
      [{ price: Symbol('no') }, 'price must be a number'],
      [{ updatedAt: 1.5 }, 'updatedAt must be an integer of 64 bits'],
      [{ payload: gone }, 'detached'],
    ] as const) {
      const bad = { ...values, key: 9n, ...change } as unknown as typeof values;
      expect(() => row.set(bad)).toThrow(problem);
      expect(row.bytes).toEqual(before);
    }
  });
});

describe('inserters and statements', () => {
  const table = new TableDefinition('t', [
    { name: 'mark', type: SqlType.text(), nullable: false },
    { name: 'note', type: SqlType.bytes() },
    { name: 'n', type: SqlType.bigInt() },
  ]);
  const notes = (mark: string): unknown => [{ mark, note: text(mark), n: null }];
  type Row = readonly unknown[] | Record<string, unknown>;
  const values = (mark: string): unknown[] => [mark, text(mark), null];
  const ways: Record<string, (inserter: RowInserter, mark: string, watch: Watch) => void> = {
    'addRow, an array': (inserter, mark, watch) => void inserter.addRow(watch(values(mark))),
    'addRow, an object': (inserter, mark, watch) =>
      void inserter.addRow(watch({ mark, note: text(mark), n: null } as Row)),
    'addRows, an array': (inserter, mark, watch) => void inserter.addRows(watch([values(mark)] as Row[])),
    'addRows, an iterable': (inserter, mark, watch) => {
      const rows = {
        *[Symbol.iterator]() {
          yield watch(values(mark));
        },
      };
      inserter.addRows(watch(rows) as Iterable<Row>);
    },
    addColumns: (inserter, mark, watch) => {
      const offsets = Int32Array.of(0, 1);
      inserter.addColumns(watch({ mark: [mark], note: { offsets, values: watch(text(mark)) }, n: [null] }));
    },
  };
  for (const [name, add] of Object.entries(ways)) {
    for (const batchRows of [1, 100]) {
      takesCodeOfItsCaller(
        `RowInserter.${name}, batches of ${batchRows}`,
        async () => {
          const connection = await connect('memory:');
          await connection.createTable(table);
          const made = (): RowInserter => new RowInserter(connection, table, { batchRows });
          let inserter = made();
          let stored: Promise<unknown> | undefined;
          const added = new Map<string, number>();
          return {
            call: async (mark, watch) => {
              const own = inserter;
              add(own, mark, watch);
              added.set(mark, (added.get(mark) ?? 0) + 1);
              await Promise.resolve();
              if (own === inserter) {
                stored = own.execute();
                inserter = made();
              }
              await stored;
              const rows = await connection.executeQuery<{ mark: string }>('SELECT mark, note, n FROM t');
              // A row whose call a getter made fail may still be stored, if it precedes the faulty row.
              for (const row of rows) deepEqual([row], notes(row.mark));
              for (const [each, times] of added) {
                equal(rows.filter((row) => row.mark === each).length, times);
              }
              return rows.filter((row) => row.mark === mark).slice(-1);
            },
            close: async () => {
              await inserter.abort();
              await connection.close();
            },
          };
        },
        notes,
      );
    }
  }

  test('a row whose getter ends the insert is refused, not lost', async () => {
    await using connection = await connect('memory:');
    await connection.createTable(table);
    for (const add of ['addRow', 'addRows'] as const) {
      const inserter = new RowInserter(connection, table);
      inserter.addRow(['before', null, 1]);
      let done: Promise<number> | undefined;
      const row = {
        get mark() {
          done = inserter.execute();
          return 'late';
        },
      };
      expect(() => (add === 'addRow' ? inserter.addRow(row) : inserter.addRows([row]))).toThrow(
        expect.objectContaining({ code: 'BB_CLOSED' }),
      );
      expect(await done).toBe(1);
    }
  });

  takesCodeOfItsCaller(
    'statements with parameters',
    async () => {
      const connection = await connect();
      const statement = await connection.prepare('SELECT $1::VARCHAR || $2 AS mark');
      return {
        call: async (mark, watch) => {
          const options = watch({ parameters: [mark, watch(text(mark))], timeoutMs: 60_000, batchRows: 10 });
          const [direct] = await connection.executeQuery('SELECT $1 AS mark, $2 AS bytes', options);
          const [prepared] = await statement.executeQuery(watch([mark, '!']), watch({ timeoutMs: 60_000 }));
          return [direct, prepared];
        },
        close: () => connection.close(),
      };
    },
    (mark) => [{ mark, bytes: text(mark) }, { mark: `${mark}!` }],
  );

  describe('ArrowInserter.insert', () => {
    let bytes: Record<string, Uint8Array> = {};
    beforeAll(async () => {
      await using connection = await connect();
      for (const mark of 'oijkabc') {
        bytes[mark] = await connection.executeQueryToArrow(
          `SELECT '${mark}' AS mark, '${mark}'::BLOB AS note, NULL::BIGINT AS n`,
        );
      }
    });
    takesCodeOfItsCaller(
      'insert',
      async () => {
        const connection = await connect('memory:');
        await connection.createTable(table);
        return {
          call: async (mark, watch) => {
            const inserter = new ArrowInserter(connection, table);
            inserter.insert(watch(bytes[mark]!.slice()));
            await inserter.execute();
            const rows = await connection.executeQuery<{ mark: string }>('SELECT mark, note, n FROM t');
            return rows.filter((row) => row.mark === mark);
          },
          close: () => connection.close(),
        };
      },
      notes,
    );
  });
});

describe('codecs', () => {
  const names = (mark: string) => ({ measurement: mark, tags: { t: mark }, field: 'f' });
  const columns = { values: [1, 2], times: [3n, 4n] };
  describe('encode and decode', () => {
    const decoder = new ColumnsDecoder();
    const parser = new LineParser();
    const paths = new JsonPaths('*.v');
    takesCodeOfItsCaller(
      'one of each after the other',
      async () => ({
        call: (mark, watch) => {
          const made = watch(names(mark));
          const given = (): [Float64Array, BigInt64Array] => [
            watch(Float64Array.from(columns.values)),
            watch(BigInt64Array.from(columns.times)),
          ];
          const encoded = new ColumnsEncoder(made).encode(...given());
          const { measurement, tags, values } = decoder.decode(watch(encoded.slice()));
          const lines = new LineEncoder(made).encode(...given());
          const parsed = parser.parse(watch(lines.slice()), watch({ precision: 'ns' as const, now: 5 }));
          const rows = new RowsEncoder(made).encode(...given());
          const [picked] = paths.pick(watch(Uint8Array.from(text(`[{"v":"${mark}"}]`))));
          return [
            measurement,
            tags['t'],
            [...values],
            [...parsed.rawValues],
            parsed.series[0],
            rows.length,
            picked!.text(0),
          ];
        },
        close: () => {},
      }),
      (mark) => [
        mark,
        mark,
        columns.values,
        columns.values,
        { measurement: mark, tags: { t: mark } },
        new RowsEncoder(names(mark)).encode(Float64Array.from(columns.values), BigInt64Array.from(columns.times))
          .length,
        mark,
      ],
    );
  });

  test('an array that lies about its length changes no later batch', () => {
    const encoder = new LineEncoder(names('m'));
    const values = Float64Array.of(1);
    for (const length of [0, -1, 1e9, Number.NaN]) {
      const lying = Object.defineProperty(Float64Array.of(1), 'length', { value: length });
      expect(encoder.encode(lying)).toEqual(encoder.encode(values));
    }
  });
});
