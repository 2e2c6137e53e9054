import type { Column as Columns, Table } from '@uwdata/flechette';

import type { JsTableClient, MeasurementColumns, MeasurementObject } from './measurement-table.js';
import { importPackage, optionalVersion } from './optional-package.js';
import type { StreamColumns } from './stream-columns.js';

export const FLECHETTE = '@uwdata/flechette';

/** The library, for all that reads and writes Arrow streams in JavaScript. */
export const library = await importPackage(FLECHETTE, () => import('@uwdata/flechette'));

const { Column, columnFromArray, tableFromColumns, tableFromIPC } = library;

const NAMES = ['id', 'sensor_id', 'value', 'timestamp'] as const;

/**
 * Tables of `@uwdata/flechette`. Typed arrays become columns without a copy. Plain arrays, which the library takes as
 * well, are copied value by value. 64-bit integers stay `bigint` (`useBigInt`), which is lossless, and as fast: a
 * `number` is also made from a `bigint`, and range-checked.
 */
export const flechette: JsTableClient<Table> = {
  name: 'flechette',
  version: optionalVersion(FLECHETTE),

  fromBatches(batches) {
    return tableFromColumns(NAMES.map((name) => [name, columnOf(batches, name)]));
  },

  toBatches(table) {
    const [id, sensorId, value, timestamp] = table.children;
    return (id?.data ?? []).map((batch, position) => ({
      id: batch.values as Int32Array,
      sensor_id: sensorId?.data[position]?.values as Int32Array,
      value: value?.data[position]?.values as Float64Array,
      timestamp: timestamp?.data[position]?.values as BigInt64Array,
    }));
  },

  toObjects(table) {
    return table.toArray() as unknown as MeasurementObject[];
  },

  objectsOfBatch(table, position) {
    // A table of one batch, since `table.at` would look up the batch of every row.
    const batch = tableFromColumns(
      NAMES.map((name, column) => [name, new Column([table.children[column]!.data[position]!])]),
    );
    return (index) => batch.at(index) as unknown as MeasurementObject;
  },
};

/** Decodes an IPC stream of an `Int32`, a `Float64` and a `Utf8`. Texts are left as bytes, since `column.at(i)` makes a string of each. */
export function columnsOfStream(stream: Uint8Array): StreamColumns {
  const [ids, scores, names] = tableFromIPC(stream).children.map((column) => column.data[0]!);
  return {
    ids: ids!.values as Int32Array,
    scores: scores!.values as Float64Array,
    offsets: names!.offsets as Int32Array,
    texts: names!.values as Uint8Array,
  };
}

function columnOf(batches: readonly MeasurementColumns[], name: keyof MeasurementColumns): Columns<unknown> {
  return new Column(batches.flatMap((batch) => columnFromArray(batch[name], undefined, { useBigInt: true }).data));
}
