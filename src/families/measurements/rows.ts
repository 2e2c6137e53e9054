/**
 * The rows of the family: a pure function of the row's index, so that every side and every run uses the same bytes.
 *
 * Row `i` is `id = i, sensor_id = i % 10, value = i * 0.1, timestamp = 1_700_000_000_000 + i * 1000`.
 *
 * Making rows is never timed. To keep memory bounded for any number of rows, rows are made batch by batch in reused
 * memory. One execution of a cell leaves that memory to the next, on all sides.
 */
import type { MeasurementColumns, MeasurementRow } from '../../clients/measurement-table.js';
import { matrix } from './matrix.js';

const {
  sensors: SENSORS,
  valueStep: VALUE_STEP,
  timestampStart: TIMESTAMP_START,
  timestampStep: TIMESTAMP_STEP,
} = matrix;

/** The rows of one batch. */
export const BATCH_ROWS = matrix.batchRows;

/** The rows of one piece of a writer's input, which is made while the clock is paused. */
export const INPUT_ROWS = matrix.inputRows;

const TWO_TO_32 = 2 ** 32;

/** Consecutive rows, by index. */
export interface RowRange {
  readonly start: number;
  readonly rows: number;
}

/** The contiguous ranges of `workers` workers: equal ones, and the last takes the rest. */
export function splitRows(rows: number, workers: number): RowRange[] {
  const share = Math.floor(rows / workers);
  return Array.from({ length: workers }, (_, worker) => ({
    start: worker * share,
    rows: worker === workers - 1 ? rows - worker * share : share,
  }));
}

/** The ranges of at most `rows` rows that make up a range, in order. */
export function* batchesOf(range: RowRange, rows = BATCH_ROWS): Generator<RowRange> {
  const end = range.start + range.rows;
  for (let start = range.start; start < end; start += rows) yield { start, rows: Math.min(rows, end - start) };
}

/** Memory for the columns of `rows` rows. */
export function newColumns(rows: number): MeasurementColumns {
  return {
    id: new Int32Array(rows),
    sensor_id: new Int32Array(rows),
    value: new Float64Array(rows),
    timestamp: new BigInt64Array(rows),
  };
}

/** Memory for the columns of one batch. The columns that `make` returns are valid until the next `make`. */
export class ColumnBatch {
  readonly #columns: MeasurementColumns;
  /** The timestamps as 32-bit halves, the low one first: a `BigInt` per row would take longer than all the rest. */
  readonly #halves: Uint32Array;

  /** `columns` is the memory to fill. Default: new memory for one batch. */
  constructor(columns: MeasurementColumns = newColumns(BATCH_ROWS)) {
    this.#columns = columns;
    const { buffer, byteOffset, length } = columns.timestamp;
    this.#halves = new Uint32Array(buffer, byteOffset, 2 * length);
  }

  /** The columns of a range, which must not exceed the capacity. */
  make({ start, rows }: RowRange): MeasurementColumns {
    const { id, sensor_id, value, timestamp } = this.#columns;
    const halves = this.#halves;
    for (let at = 0; at < rows; at += 1) {
      const index = start + at;
      const milliseconds = TIMESTAMP_START + index * TIMESTAMP_STEP;
      id[at] = index;
      sensor_id[at] = index % SENSORS;
      value[at] = index * VALUE_STEP;
      halves[2 * at] = milliseconds;
      halves[2 * at + 1] = milliseconds / TWO_TO_32;
    }
    if (rows === id.length) return this.#columns;
    return {
      id: id.subarray(0, rows),
      sensor_id: sensor_id.subarray(0, rows),
      value: value.subarray(0, rows),
      timestamp: timestamp.subarray(0, rows),
    };
  }
}

/** A row whose timestamp is a `bigint`, for clients that take no number there. */
export type BigintRow = [id: number, sensorId: number, value: number, timestamp: bigint];

/** Memory for the rows of one batch, as arrays. The rows that `make` returns are valid until the next `make`. */
export class RowBatch {
  readonly #rows: MeasurementRow[];

  /** A capacity below `BATCH_ROWS` saves memory if there are fewer rows. */
  constructor(capacity = BATCH_ROWS) {
    // Filled with doubles, so that the arrays have the elements kind that later values need.
    this.#rows = Array.from({ length: capacity }, () => [0.5, 0.5, 0.5, 0.5]);
  }

  /** The rows of a range, which must not exceed the capacity. */
  make({ start, rows }: RowRange): readonly MeasurementRow[] {
    const batch = this.#rows;
    for (let at = 0; at < rows; at += 1) {
      const row = batch[at] as MeasurementRow;
      const index = start + at;
      row[0] = index;
      row[1] = index % SENSORS;
      row[2] = index * VALUE_STEP;
      row[3] = TIMESTAMP_START + index * TIMESTAMP_STEP;
    }
    return rows === batch.length ? batch : batch.slice(0, rows);
  }
}

/** The memory of input by its capacity. */
const kept = { columns: new Map<number, ColumnBatch>(), rows: new Map<number, RowBatch>() };

/** Memory for the columns of `rows` rows. One execution leaves it to the next: after the first, none touches fresh memory. */
export function keptColumns(rows: number): ColumnBatch {
  const memory = kept.columns.get(rows) ?? new ColumnBatch(newColumns(rows));
  kept.columns.set(rows, memory);
  return memory;
}

/** Memory for `rows` rows, which one execution leaves to the next. */
export function keptRows(rows: number): RowBatch {
  const memory = kept.rows.get(rows) ?? new RowBatch(rows);
  kept.rows.set(rows, memory);
  return memory;
}

/** The rows of a range, as new arrays with `bigint` timestamps. */
export function bigintRows({ start, rows }: RowRange): BigintRow[] {
  return Array.from({ length: rows }, (_, at) => {
    const index = start + at;
    return [index, index % SENSORS, index * VALUE_STEP, BigInt(TIMESTAMP_START + index * TIMESTAMP_STEP)];
  });
}
