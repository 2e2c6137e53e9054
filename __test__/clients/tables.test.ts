import { describe, expect, it } from 'vitest';

import { apacheArrow } from '../../src/clients/apache-arrow.js';
import { type DuckDbRow, DuckDbPeer, duckDbValues, duckDbVectors } from '../../src/clients/duckdb-node-api.js';
import { flechette } from '../../src/clients/flechette.js';
import type { JsTableClient, MeasurementColumns } from '../../src/clients/measurement-table.js';

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

describe.each([duckDbValues, duckDbVectors])('$name', (client) => {
  const withPeer = async (test: (peer: DuckDbPeer) => Promise<void>): Promise<void> => {
    const peer = await DuckDbPeer.open();
    try {
      await peer.createTable('t');
      await test(peer);
    } finally {
      peer.close();
    }
  };
  const sql = 'SELECT * FROM t';

  it('writes rows and reads them as objects', () =>
    withPeer(async (peer) => {
      const writer = client.writeRows(await peer.connection.createAppender('t'));
      writer.add(rows);
      writer.add([]);
      writer.finish();
      expect(await client.objects(peer.connection, sql)).toEqual(objects);
    }));

  it('writes columns of more than one chunk and reads them as columns', () =>
    withPeer(async (peer) => {
      const id = Int32Array.from({ length: 5000 }, (_, index) => index);
      const columns = {
        id,
        sensor_id: id.slice(),
        value: Float64Array.from(id),
        timestamp: BigInt64Array.from(id, (value) => BigInt(value)),
      };
      const writer = client.writeColumns(await peer.connection.createAppender('t'));
      writer.add(columns);
      writer.finish();
      const read: unknown[][] = [[], [], [], []];
      for await (const chunk of client.columns(peer.connection, `${sql} ORDER BY id`)) {
        chunk.forEach((column, position) => {
          if ('itemCount' in column) {
            for (let at = 0; at < column.itemCount; at += 1) read[position]?.push(column.getItem(at));
          } else read[position]?.push(...column);
        });
      }
      expect(read).toEqual(Object.values(columns).map((column) => [...column]));
    }));

  it('reads results without rows', () =>
    withPeer(async (peer) => {
      expect(await client.objects(peer.connection, sql)).toEqual([]);
      for await (const columns of client.columns(peer.connection, sql)) {
        for (const column of columns) expect('itemCount' in column ? column.itemCount : column.length).toBe(0);
      }
    }));
});
