/**
 * The exact check of the rows that a cell read or stored, beside its samples and untimed.
 *
 * A sample returns sums by column, which stay right if two rows exchange a value, or if one row comes twice instead of
 * another with the same sums. This check sees both: each value must be its row's own, and each row must come once.
 */
import { checksumMismatch } from '../../errors.js';
import { type TextRow, hasTexts } from './checksum.js';
import { FIRST_NUMBER, type SensorGroup, groupsOf, textsOf } from './closed-forms.js';
import { matrix, workloadEntry } from './matrix.js';
import type { RowRange } from './rows.js';

/** A row of measurements, in the form in which a client makes it. */
interface Row {
  readonly id: number;
  readonly sensor_id: number;
  readonly value: number;
  readonly timestamp: number | bigint;
}

/** The relative difference to which values may differ, since servers that send them as text may send 15 digits. */
const TEXT_TOLERANCE = 1e-15;

/** A column of a batch, as an array or a typed array. */
type Column = { readonly [at: number]: unknown };

/** The check of the rows of one table, in any order. Its methods throw a `BoundaryError` with the code `BB_CHECKSUM_MISMATCH`. */
export interface RowCheck {
  /** Checks rows as objects. */
  addRows(rows: Iterable<object>): void;
  /** Checks rows given by their columns, in the order of the workload's. */
  addColumns(rows: number, columns: readonly Column[]): void;
  /** Ends the check: no row may be missing. */
  finish(): void;
}

/** The check of a workload's rows over the table of a range. */
export function rowCheckOf(workload: string, range: RowRange): RowCheck {
  const { columns, filteredSensor } = workloadEntry(workload);
  if (hasTexts(columns)) return new TextCheck(range);
  return columns.includes('id') ? new MeasurementCheck(range, filteredSensor) : new GroupCheck(range, columns);
}

/** The check of the rows of a range, or of one sensor's rows in it. */
class MeasurementCheck implements RowCheck {
  readonly #range: RowRange;
  readonly #sensor: number | undefined;
  /** Whether a row has come, by its place in the range. */
  readonly #seen: Uint8Array;
  #missing: number;

  constructor(range: RowRange, sensor: number | undefined) {
    this.#range = range;
    this.#sensor = sensor;
    this.#seen = new Uint8Array(range.rows);
    const groups = groupsOf(range).filter(({ sensor_id }) => sensor === undefined || sensor_id === sensor);
    this.#missing = groups.reduce((sum, { count }) => sum + count, 0);
  }

  addRows(rows: Iterable<object>): void {
    for (const row of rows) this.#add(row as Row);
  }

  addColumns(rows: number, [id, sensorId, value, timestamp]: readonly Column[]): void {
    for (let at = 0; at < rows; at += 1) {
      this.#add({ id: id![at], sensor_id: sensorId![at], value: value![at], timestamp: timestamp![at] } as Row);
    }
  }

  finish(): void {
    if (this.#missing === 0) return;
    const { rows, start } = this.#range;
    throw checksumMismatch(`${this.#missing} rows are missing of those from ${start} to ${start + rows - 1}`);
  }

  #add(row: Row): void {
    const { id, sensor_id: sensorId, value, timestamp } = row;
    const place = id - this.#range.start;
    const sensor = id % matrix.sensors;
    if (!isNumber(id) || this.#seen[place] === undefined || (this.#sensor !== undefined && sensor !== this.#sensor)) {
      throw checksumMismatch(`${shown(row)} should not be among the rows`);
    }
    const expected = measurementOf(id);
    const isNear = isNumber(value) && Math.abs(value - expected.value) <= TEXT_TOLERANCE * value;
    if (sensorId !== sensor || !isNear || Number(timestamp) !== expected.timestamp) {
      throw checksumMismatch(`${shown(row)} should be ${shown(expected)}`);
    }
    if (this.#seen[place] === 1) throw checksumMismatch(`${shown(row)} came twice`);
    this.#seen[place] = 1;
    this.#missing -= 1;
  }
}

/** The check of rows of texts: each must be what its id says, and each id of the range must come once. */
class TextCheck implements RowCheck {
  readonly #ids: RowCheck;

  constructor(range: RowRange) {
    this.#ids = new MeasurementCheck(range, undefined);
  }

  addRows(rows: Iterable<object>): void {
    for (const row of rows) this.#add(row as TextRow);
  }

  addColumns(rows: number, [sensor, measurement]: readonly Column[]): void {
    for (let at = 0; at < rows; at += 1) this.#add({ sensor: sensor![at], measurement: measurement![at] } as TextRow);
  }

  finish(): void {
    this.#ids.finish();
  }

  #add(row: TextRow): void {
    const id = Number(String(row.measurement).split(' ')[1]) - FIRST_NUMBER;
    const expected = textsOf(id);
    if (row.sensor !== expected.sensor || row.measurement !== expected.measurement) {
      throw checksumMismatch(`${shown(row)} should be ${shown(expected)}`);
    }
    this.#ids.addRows([measurementOf(id)]);
  }
}

/** The check of one row a sensor, with its aggregates. */
class GroupCheck implements RowCheck {
  readonly #columns: readonly string[];
  /** The groups that have not come yet, by their sensor. */
  readonly #left: Map<number, SensorGroup>;

  constructor(range: RowRange, columns: readonly string[]) {
    this.#columns = columns;
    this.#left = new Map(groupsOf(range).map((group) => [group.sensor_id, group]));
  }

  addRows(rows: Iterable<object>): void {
    for (const row of rows) this.#add(row as SensorGroup);
  }

  addColumns(rows: number, columns: readonly Column[]): void {
    for (let at = 0; at < rows; at += 1) {
      const values = this.#columns.map((name, position) => [name, columns[position]![at]]);
      this.#add(Object.fromEntries(values) as SensorGroup);
    }
  }

  finish(): void {
    for (const group of this.#left.values()) throw checksumMismatch(`${shown(group)} is missing`);
  }

  #add(row: SensorGroup): void {
    const sensor = Number(row.sensor_id);
    const expected = this.#left.get(sensor);
    if (expected === undefined) throw checksumMismatch(`${shown(row)} came twice, or should not be among the rows`);
    const isExact = Number(row.count) === expected.count;
    const isNear = (['avg', 'min', 'max'] as const).every(
      (name) =>
        isNumber(row[name]) && Math.abs(row[name] - expected[name]) <= matrix.floatTolerance * Math.abs(expected[name]),
    );
    if (!isExact || !isNear) throw checksumMismatch(`${shown(row)} should be ${shown(expected)}`);
    this.#left.delete(sensor);
  }
}

/** The row of an id. */
function measurementOf(id: number): Row {
  const { sensors, valueStep, timestampStart, timestampStep } = matrix;
  return { id, sensor_id: id % sensors, value: id * valueStep, timestamp: timestampStart + id * timestampStep };
}

/** Whether a value is a number at run time, regardless of its type: a null counts as zero in a calculation. */
function isNumber(value: unknown): value is number {
  return typeof value === 'number';
}

function shown(row: object): string {
  const values = Object.entries(row).map(([name, value]) => `${name} ${String(value)}`);
  return `the row (${values.join(', ')})`;
}
