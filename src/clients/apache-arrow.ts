import type * as Arrow from 'apache-arrow';

import type { JsTableClient, MeasurementColumns, MeasurementObject } from './measurement-table.js';
import { importPackage, optionalVersion } from './optional-package.js';
import type { StreamColumns } from './stream-columns.js';

const { Field, Float64, Int32, Int64, RecordBatch, Schema, Struct, Table, makeData, tableFromIPC } =
  await importPackage('apache-arrow', () => import('apache-arrow'));

type Columns = { id: Arrow.Int32; sensor_id: Arrow.Int32; value: Arrow.Float64; timestamp: Arrow.Int64 };

const FIELDS = [
  new Field('id', new Int32(), false),
  new Field('sensor_id', new Int32(), true),
  new Field('value', new Float64(), true),
  new Field('timestamp', new Int64(), true),
];

const SCHEMA = new Schema<Columns>(FIELDS);

/**
 * Tables of `apache-arrow`. Batches are made with `makeData`, which keeps the typed arrays. Columns are read as the
 * batches' typed arrays, since `vector.get(i)` looks up the batch of every value. Row objects are the library's own,
 * which read their values from the table on access.
 *
 * The alternatives are slower: the library's builders, which take value by value, iterating over the table, and
 * `table.toArray()`.
 */
export const apacheArrow: JsTableClient<Arrow.Table<Columns>> = {
  name: 'apache-arrow',
  version: optionalVersion('apache-arrow'),

  fromBatches(batches) {
    return new Table(SCHEMA, batches.map(recordBatch));
  },

  toBatches(table) {
    return table.batches.map((batch) => ({
      id: values<Int32Array>(batch, 0),
      sensor_id: values<Int32Array>(batch, 1),
      value: values<Float64Array>(batch, 2),
      timestamp: values<BigInt64Array>(batch, 3),
    }));
  },

  toObjects(table) {
    return [...table] as MeasurementObject[];
  },

  objectsOfBatch(table, position) {
    const batch = table.batches[position] as Arrow.RecordBatch<Columns>;
    return (index) => batch.get(index) as unknown as MeasurementObject;
  },
};

/** Decodes an IPC stream of an `Int32`, a `Float64` and a `Utf8`. Texts are left as bytes, since `vector.get(i)` makes a string of each. */
export function columnsOfStream(stream: Uint8Array): StreamColumns {
  const [batch] = tableFromIPC<{ id: Arrow.Int32; score: Arrow.Float64; name: Arrow.Utf8 }>(stream).batches;
  const [ids, scores, names] = batch!.data.children as [
    Arrow.Data<Arrow.Int32>,
    Arrow.Data<Arrow.Float64>,
    Arrow.Data<Arrow.Utf8>,
  ];
  return { ids: ids.values, scores: scores.values, offsets: names.valueOffsets, texts: names.values };
}

function recordBatch(columns: MeasurementColumns): Arrow.RecordBatch<Columns> {
  const children: Arrow.Data[] = [
    makeData({ type: new Int32(), data: columns.id }),
    makeData({ type: new Int32(), data: columns.sensor_id }),
    makeData({ type: new Float64(), data: columns.value }),
    makeData({ type: new Int64(), data: columns.timestamp }),
  ];
  const data = makeData({ type: new Struct<Columns>(FIELDS), length: columns.id.length, nullCount: 0, children });
  return new RecordBatch(SCHEMA, data);
}

function values<T>(batch: Arrow.RecordBatch<Columns>, column: number): T {
  return batch.data.children[column]?.values as T;
}
