/** The expected checksum of each workload, in closed form: exact for integers, and independent of the code it checks. */
import type { Checksum } from '../../records/record.js';
import { type TextRow, mergeChecksums } from './checksum.js';
import { matrix, workloadEntry } from './matrix.js';
import type { RowRange } from './rows.js';

/** An arithmetic series of row indexes. */
interface Series {
  readonly first: bigint;
  readonly count: bigint;
  readonly step: bigint;
}

/** The expected checksum of a workload over tables with these ranges, one table each. */
export function expectedOf(workload: string, ranges: readonly RowRange[]): Checksum {
  const closedForm = CLOSED_FORMS[workload];
  if (closedForm === undefined) throw new Error(`no closed form for the workload "${workload}"`);
  return mergeChecksums(ranges.map(closedForm), workloadEntry(workload).columns);
}

/** The checksum of all rows, for `insert.bulk` and `query.full_scan`. */
export function expectedAll(range: RowRange): Checksum {
  let sensors = 0n;
  for (let sensor = 0; sensor < matrix.sensors; sensor += 1) sensors += ofSensor(range, sensor).count * BigInt(sensor);
  return expectedRows({ first: BigInt(range.start), count: BigInt(range.rows), step: 1n }, sensors);
}

/** The checksum of the rows of one sensor, for `query.filtered`. */
export function expectedFiltered(range: RowRange): Checksum {
  const sensor = workloadEntry('query.filtered').filteredSensor ?? 0;
  const series = ofSensor(range, sensor);
  return expectedRows(series, series.count * BigInt(sensor));
}

/** A row of `query.aggregation`. */
export interface SensorGroup {
  readonly sensor_id: number;
  readonly count: number;
  readonly avg: number;
  readonly min: number;
  readonly max: number;
}

/** The rows of `query.aggregation`: one for each sensor that occurs, in their order. */
export function groupsOf(range: RowRange): SensorGroup[] {
  const sensors = Array.from({ length: matrix.sensors }, (_, sensor) => sensor);
  return sensors.flatMap((sensor) => {
    const series = ofSensor(range, sensor);
    if (series.count === 0n) return [];
    const [first, last] = [Number(series.first), Number(lastOf(series))];
    return {
      sensor_id: sensor,
      count: Number(series.count),
      avg: ((first + last) / 2) * matrix.valueStep,
      min: first * matrix.valueStep,
      max: last * matrix.valueStep,
    };
  });
}

/** The checksum of one row per sensor that occurs, for `query.aggregation`. */
export function expectedAggregation(range: RowRange): Checksum {
  const groups = groupsOf(range);
  const sum = (name: keyof SensorGroup): number => groups.reduce((total, group) => total + group[name], 0);
  return {
    rows: groups.length,
    sums: {
      sensor_id: `${sum('sensor_id')}`,
      count: `${sum('count')}`,
      avg: sum('avg'),
      min: sum('min'),
      max: sum('max'),
    },
  };
}

/** The number that the second text of row 0 has: all numbers have as many digits. */
export const FIRST_NUMBER = 1_000_000_000;

/** The row of `query.texts` for an id. */
export function textsOf(id: number): TextRow {
  return { sensor: `sensor ${id % matrix.sensors}`, measurement: `measurement ${FIRST_NUMBER + id}` };
}

/** The checksum of `query.texts`. The last character of both texts of a row is the digit of its sensor, since there are ten. */
export function expectedTexts(range: RowRange): Checksum {
  const sensors = BigInt(expectedAll(range).sums['sensor_id']!);
  const sumOf = (text: string): string => `${BigInt(range.rows * (text.length + '0'.charCodeAt(0))) + sensors}`;
  const { sensor, measurement } = textsOf(0);
  return { rows: range.rows, sums: { sensor: sumOf(sensor), measurement: sumOf(measurement) } };
}

const CLOSED_FORMS: Readonly<Record<string, (range: RowRange) => Checksum>> = {
  'insert.bulk': expectedAll,
  'query.full_scan': expectedAll,
  'query.filtered': expectedFiltered,
  'query.aggregation': expectedAggregation,
  'query.texts': expectedTexts,
};

function ofSensor({ start, rows }: RowRange, sensor: number): Series {
  const first = start + ((sensor + matrix.sensors - (start % matrix.sensors)) % matrix.sensors);
  const count = Math.max(0, Math.ceil((start + rows - first) / matrix.sensors));
  return { first: BigInt(first), count: BigInt(count), step: BigInt(matrix.sensors) };
}

function lastOf({ first, count, step }: Series): bigint {
  return first + (count - 1n) * step;
}

function sumOf(series: Series): bigint {
  return (series.count * (series.first + lastOf(series))) / 2n;
}

function expectedRows(indexes: Series, sensors: bigint): Checksum {
  const ids = sumOf(indexes);
  const timestamps = indexes.count * BigInt(matrix.timestampStart) + ids * BigInt(matrix.timestampStep);
  return {
    rows: Number(indexes.count),
    sums: { id: `${ids}`, sensor_id: `${sensors}`, value: Number(ids) * matrix.valueStep, timestamp: `${timestamps}` },
  };
}
