/**
 * The queries as tuned loops over typed arrays, the fastest form in pure JavaScript over a table in memory. They read
 * each value that the query returns exactly once, and sum it where they read it.
 */
import type { Checksum } from '../../records/record.js';
import type { MeasurementColumns } from '../../clients/measurement-table.js';
import { ColumnSums, MeasurementSums } from './checksum.js';

const COLUMN_NAMES = ['id', 'sensor_id', 'value', 'timestamp'] as const;

/** The checksum of all rows. */
export function scan(batches: readonly MeasurementColumns[]): Checksum {
  const sums = new ColumnSums(COLUMN_NAMES);
  for (const batch of batches) {
    sums.addRows(batch.id.length);
    COLUMN_NAMES.forEach((name, position) => sums.addColumn(position, batch[name]));
  }
  return sums.checksum;
}

/** The checksum of the rows of one sensor. */
export function filter(batches: readonly MeasurementColumns[], sensor: number): Checksum {
  const sums = new MeasurementSums();
  for (const batch of batches) filterBatch(batch, sensor, sums);
  return sums.checksum;
}

function filterBatch(batch: MeasurementColumns, sensor: number, sums: MeasurementSums): void {
  const { id: ids, sensor_id: sensorIds, value: values, timestamp: timestamps } = batch;
  // A timestamp is added as its 32-bit halves, which is exact and far faster than as a `bigint`.
  const low = new Uint32Array(timestamps.buffer, timestamps.byteOffset, 2 * timestamps.length);
  const high = new Int32Array(timestamps.buffer, timestamps.byteOffset, 2 * timestamps.length);
  let rows = 0;
  let id = 0;
  let sensorId = 0;
  let value = 0;
  let lowSum = 0;
  let highSum = 0;
  for (let at = 0; at < sensorIds.length; at += 1) {
    if (sensorIds[at] !== sensor) continue;
    rows += 1;
    id += ids[at] as number;
    sensorId += sensorIds[at] as number;
    value += values[at] as number;
    lowSum += low[2 * at] as number;
    highSum += high[2 * at + 1] as number;
  }
  sums.add(rows, id, sensorId, value, BigInt(highSum) * 4_294_967_296n + BigInt(lowSum));
}

/**
 * The checksum of one row per sensor: count, average, least and greatest value. Sensors are small integers, so they
 * index arrays.
 */
export function aggregate(batches: readonly MeasurementColumns[], sensors: number): Checksum {
  const counts = new Float64Array(sensors);
  const totals = new Float64Array(sensors);
  const least = new Float64Array(sensors).fill(Infinity);
  const greatest = new Float64Array(sensors).fill(-Infinity);
  for (const { sensor_id: sensorIds, value: values } of batches) {
    for (let at = 0; at < sensorIds.length; at += 1) {
      const sensor = sensorIds[at] as number;
      const value = values[at] as number;
      counts[sensor] = (counts[sensor] as number) + 1;
      totals[sensor] = (totals[sensor] as number) + value;
      if (value < (least[sensor] as number)) least[sensor] = value;
      if (value > (greatest[sensor] as number)) greatest[sensor] = value;
    }
  }
  return checksumOfGroups(counts, totals, least, greatest);
}

function checksumOfGroups(
  counts: Float64Array,
  totals: Float64Array,
  least: Float64Array,
  greatest: Float64Array,
): Checksum {
  let [rows, sensors, count, avg, min, max] = [0, 0, 0, 0, 0, 0];
  counts.forEach((groupCount, sensor) => {
    if (groupCount === 0) return;
    rows += 1;
    sensors += sensor;
    count += groupCount;
    avg += (totals[sensor] as number) / groupCount;
    min += least[sensor] as number;
    max += greatest[sensor] as number;
  });
  return { rows, sums: { sensor_id: `${sensors}`, count: `${count}`, avg, min, max } };
}
