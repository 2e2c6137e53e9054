import { describe, expect, it } from 'vitest';

import { apacheArrow } from '../../src/clients/apache-arrow.js';
import type { DuckDbClient } from '../../src/clients/duckdb-client.js';
import { type DuckDbRow, DuckDbNodeApi } from '../../src/clients/duckdb-node-api.js';
import { DuckDbBindings } from '../../src/clients/duckdb-node-bindings.js';
import { flechette } from '../../src/clients/flechette.js';
import type { JsTableClient, MeasurementColumns, MeasurementRow } from '../../src/clients/measurement-table.js';

const batches: readonly MeasurementColumns[] = [
  {
    id: Int32Array.of(0, -1),
    sensor_id: Int32Array.of(5, 6),
    value: Float64Array.of(0.5, -2),
    timestamp: BigInt64Array.of(2n ** 62n, -5n),
  },
  {
    id: Int32Array.of(2 ** 31 - 1),
    sensor_id: Int32Array.of(7),
    value: Float64Array.of(1e300),
    timestamp: BigInt64Array.of(1_700_000_000_000n),
  },
];

const rows: readonly DuckDbRow[] = batches.flatMap((batch) =>
  Array.from(batch.id, (id, at): DuckDbRow => [id, batch.sensor_id[at]!, batch.value[at]!, batch.timestamp[at]!]),
);

const objects = rows.map(([id, sensor_id, value, timestamp]) => ({ id, sensor_id, value, timestamp }));

describe.each([apacheArrow, flechette] as readonly JsTableClient<unknown>[])('$name', (client) => {
  it('keeps batches as they are', () => {
    expect(client.toBatches(client.fromBatches(batches))).toEqual(batches);
  });

  it('makes row objects of all rows, and of one row of a batch', () => {
    const table = client.fromBatches(batches);
    const plain = (row: object): object => ({ ...((row as { toJSON?(): object }).toJSON?.() ?? row) });
    expect(client.toObjects(table).map(plain)).toEqual(objects);
    expect(plain(client.objectsOfBatch(table, 1)(0))).toEqual(objects[2]);
  });

  it('takes a table without rows', () => {
    const table = client.fromBatches([]);
    expect(client.toBatches(table)).toEqual([]);
    expect(client.toObjects(table)).toEqual([]);
  });

  it('knows its version', () => {
    expect(client.version).toMatch(/^\d+\.\d+\.\d+/);
  });
});

/** A client, and the rows in its form. */
const duckDbClients = [
  { name: 'DuckDbNodeApi', open: DuckDbNodeApi.open, rowsOf: (own: readonly DuckDbRow[]) => own },
  {
    name: 'DuckDbBindings',
    open: DuckDbBindings.open,
    rowsOf: (own: readonly DuckDbRow[]) => own.map((row): MeasurementRow => [row[0], row[1], row[2], Number(row[3])]),
  },
] as readonly {
  name: string;
  open(): Promise<DuckDbClient<unknown>>;
  rowsOf(own: readonly DuckDbRow[]): readonly unknown[];
}[];

describe.each(duckDbClients)('$name', ({ open, rowsOf }) => {
  const withClient = async (test: (client: DuckDbClient<unknown>) => Promise<void>): Promise<void> => {
    const client = await open();
    try {
      await client.run('CREATE TABLE t (id INT NOT NULL, sensor_id INT, value DOUBLE, timestamp BIGINT)');
      await test(client);
    } finally {
      client.close();
    }
  };
  const sql = 'SELECT * FROM t';
  const columnsOf = async (client: DuckDbClient<unknown>, query: string): Promise<unknown[][]> => {
    const read: unknown[][] = [];
    for await (const chunk of client.columns(query)) {
      chunk.forEach((column, position) => (read[position] ??= []).push(...column));
    }
    return read;
  };

  it('writes rows and reads them as objects', () =>
    withClient(async (client) => {
      const writer = await client.writeRows('t');
      writer.add(rowsOf(rows));
      writer.add([]);
      writer.finish();
      expect(await client.objects(sql)).toEqual(objects);
    }));

  it('writes columns of more than one chunk and reads them as columns', () =>
    withClient(async (client) => {
      const id = Int32Array.from({ length: 5000 }, (_, index) => index);
      const columns = {
        id,
        sensor_id: id.slice(),
        value: Float64Array.from(id),
        timestamp: BigInt64Array.from(id, (value) => BigInt(value)),
      };
      const writer = await client.writeColumns('t');
      writer.add(columns);
      writer.finish();
      const expected = Object.values(columns).map((column) => [...column]);
      expect(await columnsOf(client, sql)).toEqual(expected);
      expect(await columnsOf(client, `${sql} ORDER BY id`)).toEqual(expected);
    }));

  it('reads nulls and texts of every length', () =>
    withClient(async (client) => {
      const query =
        "SELECT i, t FROM (VALUES (1, 'ä'), (NULL, NULL), (3, 'twelve bytes'), (4, 'thirteen byte')) AS v(i, t)";
      const i = [1, null, 3, 4];
      const t = ['ä', null, 'twelve bytes', 'thirteen byte'];
      expect(await columnsOf(client, query)).toEqual([i, t]);
      expect(await client.objects(query)).toEqual(i.map((value, row) => ({ i: value, t: t[row] })));
    }));

  it('reads texts of several chunks, some of them nulls or not of ASCII', () =>
    withClient(async (client) => {
      const texts = Array.from({ length: 5000 }, (_, i) =>
        i % 13 === 0
          ? null
          : i % 7 === 0
            ? `ä ${i}`
            : i % 1000 > 500
              ? `a text of the number ${i}`
              : `über die Zahl ${i}`,
      );
      const query = `SELECT CASE WHEN i % 13 = 0 THEN NULL WHEN i % 7 = 0 THEN 'ä ' || i
        WHEN i % 1000 > 500 THEN 'a text of the number ' || i ELSE 'über die Zahl ' || i END AS t FROM range(5000) AS r(i)`;
      expect(await columnsOf(client, query)).toEqual([texts]);
      expect(await client.objects(query)).toEqual(texts.map((t) => ({ t })));
    }));

  it('reads results without rows', () =>
    withClient(async (client) => {
      expect(await client.objects(sql)).toEqual([]);
      expect((await columnsOf(client, sql)).flat()).toEqual([]);
    }));
});
