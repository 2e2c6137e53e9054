import { Column, type Table, columnFromArray, tableFromColumns } from '@uwdata/flechette';

import type { JsTableClient, MeasurementColumns, MeasurementObject } from './measurement-table.js';
import { packageVersion } from './package-version.js';

const NAMES = ['id', 'sensor_id', 'value', 'timestamp'] as const;

/**
 * Tables of `@uwdata/flechette`. Typed arrays become columns without a copy; plain arrays, which the library takes as well, are
 * copied value by value. 64-bit integers stay `bigint` (`useBigInt`), which is lossless, and as
 * fast: a `number` is also made from a `bigint`, and range-checked.
 */
export const flechette: JsTableClient<Table> = {
  name: 'flechette',
  version: packageVersion('@uwdata/flechette'),

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

function columnOf(batches: readonly MeasurementColumns[], name: keyof MeasurementColumns): Column<unknown> {
  return new Column(batches.flatMap((batch) => columnFromArray(batch[name], undefined, { useBigInt: true }).data));
}
