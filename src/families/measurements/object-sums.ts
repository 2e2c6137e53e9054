import type { Checksum } from '../../records/record.js';
import type { MeasurementObject } from '../../clients/measurement-table.js';
import { BLOCK_ROWS, FLOAT_COLUMNS, MeasurementSums, type TextRow, hasTexts, sumOfText } from './checksum.js';

/** The checksum of the row objects that a JavaScript library made of a query's result. */
export function sumResult(objects: readonly object[], columns: readonly string[]): Checksum {
  if (hasTexts(columns)) return sumTextObjects(objects as readonly TextRow[]);
  return columns.includes('id')
    ? sumMeasurementObjects(objects as readonly MeasurementObject[])
    : sumObjects(objects, columns);
}

/** The checksum of row objects with any of the family's columns, by name. Slow: for few rows only. */
export function sumObjects(rows: readonly object[], columns: readonly string[]): Checksum {
  const sums = columns.map((name): [string, string | number] => {
    const values = rows.map((row) => (row as Record<string, unknown>)[name]);
    if (FLOAT_COLUMNS.has(name)) return [name, values.reduce<number>((sum, value) => sum + Number(value), 0)];
    return [name, `${values.reduce<bigint>((sum, value) => sum + BigInt(value as number | bigint), 0n)}`];
  });
  return { rows: rows.length, sums: Object.fromEntries(sums) };
}

/** The checksum of row objects made by a JavaScript library. Their timestamps are numbers or `bigint`s. */
export function sumMeasurementObjects(rows: readonly MeasurementObject[]): Checksum {
  const sums = new MeasurementSums();
  for (let start = 0; start < rows.length; start += BLOCK_ROWS) {
    const end = Math.min(start + BLOCK_ROWS, rows.length);
    let id = 0;
    let sensorId = 0;
    let value = 0;
    let timestamp = 0n;
    for (let at = start; at < end; at += 1) {
      const row = rows[at] as MeasurementObject;
      id += row.id;
      sensorId += row.sensor_id;
      value += row.value;
      timestamp += BigInt(row.timestamp);
    }
    sums.add(end - start, id, sensorId, value, timestamp);
  }
  return sums.checksum;
}

/** The checksum of row objects of texts. */
export function sumTextObjects(rows: Iterable<TextRow>): Checksum {
  let count = 0;
  let sensor = 0;
  let measurement = 0;
  for (const row of rows) {
    count += 1;
    sensor += sumOfText(row.sensor);
    measurement += sumOfText(row.measurement);
  }
  return { rows: count, sums: { sensor: `${sensor}`, measurement: `${measurement}` } };
}
