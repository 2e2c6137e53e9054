/**
 * The cells of an engine of the user's. Timed for an insert: from its begin to its end, without making the rows; for a
 * query: from its start until its last value is consumed.
 */
import { BoundaryError, UNSUPPORTED } from '../../errors.js';
import type { Cell, Checksum } from '../../records/record.js';
import type {
  ColumnsOfBatch,
  TableDriver,
  TableDriverConnection,
  TableInserter,
} from '../../clients/measurement-table.js';
import { loadUserClient, userClientVersion } from '../user-client.js';
import { ColumnSums, type ColumnValues } from './checksum.js';
import { DRIVER_LANES } from './driver-lanes.js';
import { matrix, queryOf, workloadEntry } from './matrix.js';
import { sumResult } from './object-sums.js';
import {
  type CellOpener,
  type Fill,
  INSERT_TABLE,
  type Reader,
  type TableClient,
  UNENDING,
  UNTIMED,
  tablePlace,
} from './table-cells.js';
import { FAMILY_NAME } from './plan.js';
import { INPUT_ROWS, type RowRange, batchesOf, keptColumns, keptRows } from './rows.js';

/** The values summed at once, few enough for exact sums. */
const PIECE_VALUES = 2 ** 20;

type Direction = keyof typeof DRIVER_LANES;
type LaneName = keyof (typeof DRIVER_LANES)['in'] | keyof (typeof DRIVER_LANES)['out'];

const METHODS = { ...DRIVER_LANES.in, ...DRIVER_LANES.out };

/** The place of an engine of the user's, which the module in a file exports. */
export async function driverPlace(file: string, name: string): Promise<CellOpener> {
  const driver = await loadUserClient<TableDriver>(FAMILY_NAME, file);
  const connection = await driver.connect();
  requireMethods(connection, name);
  return tablePlace(
    userClientVersion({ name, file }),
    driverTables(connection, name),
    async () => void (await connection.close()),
  );
}

/** Throws `BB_CLIENT` for a method that no lane calls: its lane would be skipped if its name were misspelt. */
function requireMethods(connection: TableDriverConnection, name: string): void {
  // The methods of a class may be its own matter.
  if (Object.getPrototypeOf(connection) !== Object.prototype) return;
  const known = ['createTable', 'dropTable', 'close', ...Object.values(METHODS)];
  for (const [method, value] of Object.entries(connection)) {
    if (typeof value !== 'function' || known.includes(method)) continue;
    throw new BoundaryError('BB_CLIENT', `${name} has the unknown method ${method}. Known: ${known.join(', ')}`);
  }
}

function driverTables(connection: TableDriverConnection, name: string): TableClient<string> {
  const has = (lane: LaneName): boolean => connection[METHODS[lane]] !== undefined;
  /** A lane of a direction that the engine has; by columns, if it has both. */
  const anyLane = (direction: Direction): LaneName => {
    const lanes = Object.keys(DRIVER_LANES[direction]) as LaneName[];
    const lane = lanes.toReversed().find(has);
    if (lane !== undefined) return lane;
    throw new BoundaryError('BB_CLIENT', `${name} has neither ${lanes.map((each) => METHODS[each]).join(' nor ')}`);
  };
  const reader = (table: string, { workload, lane }: Pick<Cell, 'workload' | 'lane'>): Reader => {
    const sql = queryOf(workload, table);
    const { columns } = workloadEntry(workload);
    return lane === 'objects' ? objectReader(connection, sql, columns) : columnReader(connection, sql, columns);
  };
  const scan = (table: string): Reader => reader(table, { workload: 'query.full_scan', lane: anyLane('out') });
  const writer = (table: string, lane: LaneName, rows: number): Fill<string> => {
    const fill =
      lane === 'row'
        ? fillBy(() => connection.insertRows!(table, rows), keptRows, rows)
        : fillBy(() => connection.insertColumns!(table, rows), keptColumns, rows);
    return async (clock, signal) => {
      await connection.createTable(table);
      await fill(clock, signal);
      return table;
    };
  };
  return {
    requireLane: ({ lane }) => {
      if (!has(lane as LaneName)) {
        throw new BoundaryError(UNSUPPORTED, `${name} has no ${METHODS[lane as LaneName]}`);
      }
      // An insert is verified by a query, and a query needs an insert.
      for (const direction of ['in', 'out'] as const) anyLane(direction);
    },
    load: ({ rows }) => writer(`${matrix.table}_${rows}`, anyLane('in'), rows)(UNTIMED, UNENDING),
    writer: ({ lane, rows }) => writer(INSERT_TABLE, lane as LaneName, rows),
    sums: (table) => scan(table).sum(UNTIMED),
    // The rows that a lane in has stored are read in any way.
    reader: (table, cell) => (cell.lane in DRIVER_LANES.out ? reader(table, cell) : scan(table)),
    drop: async (table) => void (await connection.dropTable(table)),
  };
}

/** Inserts rows, a batch after the other. Batches are made in the memory that `kept` gives. */
function fillBy<Batch>(
  begin: () => TableInserter<Batch> | Promise<TableInserter<Batch>>,
  kept: (capacity: number) => { make(part: RowRange): Batch },
  rows: number,
): Fill<void> {
  return async (clock, signal) => {
    clock.start();
    const inserter = await begin();
    for (const part of batchesOf({ start: 0, rows }, INPUT_ROWS)) {
      clock.stop();
      signal.throwIfAborted();
      const batch = kept(Math.min(INPUT_ROWS, rows)).make(part);
      clock.start();
      await inserter.add(batch);
    }
    await inserter.finish();
    clock.stop();
  };
}

function objectReader(connection: TableDriverConnection, sql: string, columns: readonly string[]): Reader {
  return {
    sum: async () => sumResult(await connection.queryObjects!(sql), columns),
    check: async (check) => check.addRows(await connection.queryObjects!(sql)),
  };
}

function columnReader(connection: TableDriverConnection, sql: string, names: readonly string[]): Reader {
  return {
    sum: async (): Promise<Checksum> => {
      const sums = new ColumnSums(names);
      for await (const batch of await connection.queryColumns!(sql)) {
        sums.addRows(lengthOf(batch, names));
        names.forEach((name, position) => {
          const values = batch[name]!;
          for (let start = 0; start < values.length; start += PIECE_VALUES) {
            sums.addColumn(position, signed(values.subarray(start, start + PIECE_VALUES)));
          }
        });
      }
      return sums.checksum;
    },
    check: async (check) => {
      for await (const batch of await connection.queryColumns!(sql)) {
        check.addColumns(
          lengthOf(batch, names),
          names.map((name) => batch[name]!),
        );
      }
    },
  };
}

/** The number of rows of a batch. Throws `BB_CLIENT` if it lacks a column, or has one of another type. */
function lengthOf(batch: ColumnsOfBatch, names: readonly string[]): number {
  const wrong = names.find((name) => !TYPES.some((type) => batch[name] instanceof type));
  if (wrong === undefined) return batch[names[0]!]!.length;
  throw new BoundaryError(
    'BB_CLIENT',
    `a batch of queryColumns has no typed array ${wrong}; its names are ${Object.keys(batch).join(', ')}`,
  );
}

const TYPES = [Int32Array, Uint32Array, Float64Array, BigInt64Array];

/** The values as signed integers: counts are unsigned, and far below 2^31. */
function signed(values: ColumnsOfBatch[string]): ColumnValues {
  return values instanceof Uint32Array ? new Int32Array(values.buffer, values.byteOffset, values.length) : values;
}
