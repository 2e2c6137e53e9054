import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { connect } from '../../../src/library/engine/connection.js';
import { RowInserter } from '../../../src/library/engine/row-inserter.js';
import { groupsOf, textsOf } from '../../../src/families/measurements/closed-forms.js';
import { measurementsFamily } from '../../../src/families/measurements/family.js';
import { measurementsTable } from '../../../src/families/measurements/lane.js';
import { planMeasurements } from '../../../src/families/measurements/plan.js';
import { rowCheckOf } from '../../../src/families/measurements/row-check.js';
import { ColumnBatch, newColumns } from '../../../src/families/measurements/rows.js';
import { verifyChecksum } from '../../../src/families/verify-checksum.js';
import type { MeasurementColumns } from '../../../src/clients/measurement-table.js';
import { openCells } from '../sampled-cells.js';
import { CheckedStopwatch } from './checked-stopwatch.js';
import { folderOfSuite } from '../../temporary-folder.js';

const ROWS = 1000;

const columnsOf = (): MeasurementColumns => new ColumnBatch(newColumns(ROWS)).make({ start: 0, rows: ROWS });

const moveRow = (columns: MeasurementColumns, from: number, to: number): void => {
  for (const column of Object.values(columns) as Float64Array[]) column[to] = column[from]!;
};

const exchange = (column: Float64Array | BigInt64Array, a: number, b: number): void => {
  [column[a], column[b]] = [column[b]!, column[a]!];
};

/** Faults of clients that leave the sums of the columns as they are. */
const BREAKAGES: Readonly<Record<string, (columns: MeasurementColumns) => void>> = {
  'two rows exchange a value': ({ value }) => exchange(value, 17, 18),
  'a row has the timestamp of another': ({ timestamp }) => exchange(timestamp, 0, ROWS - 1),
  'rows come twice and others never': (columns) => {
    moveRow(columns, 20, 10);
    moveRow(columns, 20, 30);
  },
};

describe('the check of rows', () => {
  const check = ({ id, sensor_id, value, timestamp }: MeasurementColumns) => {
    const rows = rowCheckOf('query.full_scan', { start: 0, rows: ROWS });
    rows.addColumns(id.length, [id, sensor_id, value, timestamp]);
    rows.finish();
  };

  it('takes the rows in any order', () => {
    const columns = columnsOf();
    for (const column of Object.values(columns) as Float64Array[]) column.reverse();
    expect(() => check(columns)).not.toThrow();
  });

  it.each(Object.keys(BREAKAGES))('finds that %s', (name) => {
    const columns = columnsOf();
    BREAKAGES[name]!(columns);
    expect(() => check(columns)).toThrow(/should be|came twice/);
  });

  it('finds rows that are missing or of another table', () => {
    const check = rowCheckOf('query.full_scan', { start: 5, rows: 10 });
    expect(() => check.finish()).toThrow('10 rows are missing of those from 5 to 14');
    expect(() => check.addRows([{ id: 4, sensor_id: 4, value: 0.4, timestamp: 1_700_000_004_000 }])).toThrow(
      'the row (id 4, sensor_id 4, value 0.4, timestamp 1700000004000) should not be among the rows',
    );
    const filtered = rowCheckOf('query.filtered', { start: 0, rows: 10 });
    expect(() => filtered.addRows([{ id: 4, sensor_id: 4, value: 0.4, timestamp: 1_700_000_004_000 }])).toThrow(
      'should not be among the rows',
    );
  });

  it('takes no null for a zero', () => {
    const zero = { id: 0, sensor_id: 0, value: 0, timestamp: 1_700_000_000_000 };
    const checked = (row: object) => () => rowCheckOf('query.full_scan', { start: 0, rows: 1 }).addRows([row]);
    expect(checked(zero)).not.toThrow();
    for (const name of Object.keys(zero)) expect(checked({ ...zero, [name]: null })).toThrow('the row');
    const [group] = groupsOf({ start: 0, rows: 1 });
    const aggregated = (row: object) => () => rowCheckOf('query.aggregation', { start: 0, rows: 1 }).addRows([row]);
    expect(aggregated(group!)).not.toThrow();
    for (const name of ['avg', 'min', 'max']) expect(aggregated({ ...group, [name]: null })).toThrow('should be');
  });

  it('compares texts row by row', () => {
    const rows = Array.from({ length: 20 }, (_, row) => textsOf(row + 5));
    const checked = (some: object[]) => () => {
      const check = rowCheckOf('query.texts', { start: 5, rows: 20 });
      check.addRows(some);
      check.finish();
    };
    expect(checked(rows.toReversed())).not.toThrow();
    const [first, second, ...others] = rows;
    const exchanged = [{ ...first, sensor: second!.sensor }, { ...second, sensor: first!.sensor }, ...others];
    expect(checked(exchanged)).toThrow('should be the row (sensor sensor 5, measurement measurement 1000000005)');
    for (const measurement of [null, '', 'measurement 1000000005 ']) {
      expect(checked([{ ...first, measurement }])).toThrow('should be');
    }
    expect(checked([textsOf(4)])).toThrow('should not be among the rows');
    expect(checked([first!, first!])).toThrow('came twice');
    expect(checked(others)).toThrow('2 rows are missing');
  });

  it('compares aggregates sensor by sensor', () => {
    const range = { start: 3, rows: 77 };
    const checked = (rows: object[]) => () => {
      const check = rowCheckOf('query.aggregation', range);
      check.addRows(rows);
      check.finish();
    };
    const groups = groupsOf(range);
    expect(checked(groups)).not.toThrow();
    const [first, second, ...others] = groups as [object, object, ...object[]];
    const exchanged = [{ ...first, min: groups[1]!.min }, { ...second, min: groups[0]!.min }, ...others];
    expect(checked(exchanged)).toThrow('should be');
    expect(checked([second, ...others])).toThrow('is missing');
    expect(checked([first, ...groups])).toThrow('came twice');
  });
});

describe('a cell whose table is broken', () => {
  const folder = folderOfSuite();

  /** A file of the embedded engine with the table that queries read, broken. */
  async function brokenFile(name: string): Promise<string> {
    const uri = `embedded:${join(folder, `${name.replaceAll(' ', '-')}.duckdb`)}`;
    await using connection = await connect(uri);
    const definition = measurementsTable(`measurements_${ROWS}`);
    await connection.createTable(definition);
    const columns = columnsOf();
    BREAKAGES[name]!(columns);
    const inserter = new RowInserter(connection, definition);
    inserter.addColumns({ ...columns });
    await inserter.execute();
    return uri;
  }

  it.each(Object.keys(BREAKAGES))('fails on every side and lane: %s', async (name) => {
    const engines = { embedded: await brokenFile(name) };
    const options = { rows: ROWS, workers: 1, engines, shared: { tables: ['embedded'] } };
    const cells = planMeasurements(options).filter(
      ({ cell }) => cell.engine === 'embedded' && cell.side !== 'js' && cell.workload === 'query.full_scan',
    );
    const { signal } = new AbortController();
    await openCells(await measurementsFamily.open(options, cells), cells, async (cell, id) => {
      // The sums are right, which is why they are not enough.
      verifyChecksum(await cell.sample(new CheckedStopwatch(), signal), cell.expected);
      await expect(cell.verify!(new CheckedStopwatch(), signal), id).rejects.toMatchObject({
        code: 'BB_CHECKSUM_MISMATCH',
      });
    });
    expect(cells.length).toBeGreaterThan(10);
  });
});
