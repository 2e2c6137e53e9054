import { describe, expect, it } from 'vitest';

import { matrix } from '../../../src/workloads/measurements/matrix.js';
import { planMeasurements } from '../../../src/workloads/measurements/plan.js';

const ids = (rows: number, workers: number): string[] => planMeasurements({ rows, workers }).map(({ cell }) => cell.id);

describe('the plan of the family', () => {
  it('has each cell once, with ids that do not depend on the rows', () => {
    const all = ids(1000, 2);
    expect(new Set(all).size).toBe(all.length);
    expect(ids(5000, 2)).toEqual(all);
    expect(all).toContain('measurements/insert.bulk/staged-row/napi/embedded/async/w1');
    expect(all).toContain('measurements/query.full_scan/columnar/js/flechette/sync/w1');
    expect(all).toContain('measurements/insert.bulk/row/js/embedded/duckdb-node-api/async/w1');
  });

  it('leaves out the cells of several workers where there is one', () => {
    const one = ids(1000, 1);
    expect(one).toEqual(ids(1000, 4).filter((id) => !id.endsWith('/w4')));
    expect(ids(1000, 4).length).toBeGreaterThan(one.length);
  });

  it('gives slow lanes fewer rows, and says so in their cells', () => {
    const rows = 10_000_000;
    const byId = new Map(planMeasurements({ rows, workers: 2 }).map(({ cell }) => [cell.id, cell]));
    const naive = byId.get('measurements/insert.bulk/naive-row/napi/memory/async/w1');
    expect([naive?.rows, naive?.bytes]).toEqual([1_000_000, 24_000_000]);
    expect(byId.get('measurements/insert.bulk/staged-row/napi/memory/async/w2')?.rows).toBe(rows);
  });

  it('counts the rows that cross, and spares slow lanes no row that does not', () => {
    const planned = planMeasurements({ rows: 10_000_000, workers: 2 });
    const rowsOf = (id: string): unknown => {
      const found = planned.find(({ cell }) => cell.id === `measurements/${id}`);
      return [found?.cell.rows, found?.tableRows];
    };
    expect(rowsOf('query.full_scan/objects/js/embedded/duckdb-node-api/async/w1')).toEqual([1_000_000, 1_000_000]);
    expect(rowsOf('query.filtered/objects/js/embedded/duckdb-node-api/async/w1')).toEqual([1_000_000, 10_000_000]);
    expect(rowsOf('query.aggregation/objects/js/embedded/duckdb-node-api/async/w1')).toEqual([10, 10_000_000]);
    expect(rowsOf('query.aggregation/objects/napi/embedded/async/w2')).toEqual([20, 10_000_000]);
  });

  it('interleaves all sides and lanes of a workload on an engine, tables in JavaScript with bare memory', () => {
    const planned = planMeasurements({ rows: 1000, workers: 2 });
    const groups = new Map<string, Set<string>>();
    for (const { cell, group } of planned)
      groups.set(group, (groups.get(group) ?? new Set()).add(`${cell.side} ${cell.engine}`));
    expect([...(groups.get('query.full_scan|memory') ?? [])].toSorted()).toEqual([
      'js apache-arrow',
      'js flechette',
      'napi memory',
      'rust memory',
    ]);
    expect([...(groups.get('insert.bulk|embedded') ?? [])].toSorted()).toEqual([
      'js embedded',
      'napi embedded',
      'rust embedded',
    ]);
    // One engine after the other: the first one's tables can go before the next one's come.
    const engines = planned.map(({ group }) => group.split('|')[1]);
    expect(engines.filter((engine, at) => engine !== engines[at - 1])).toEqual(Object.keys(matrix.engines));
  });

  it('skips what an engine without SQL cannot do, and nothing else', () => {
    const skipped = planMeasurements({ rows: 1000, workers: 2 }).filter(({ skip }) => skip !== undefined);
    expect(new Set(skipped.map(({ cell }) => `${cell.workload} ${cell.engine}`))).toEqual(
      new Set(['query.filtered memory', 'query.aggregation memory']),
    );
    expect(skipped[0]?.skip).toBe('the engine memory runs no SQL: it can only be scanned whole');
  });

  it('names a lane in Rust for every cell of Node', () => {
    const planned = planMeasurements({ rows: 1000, workers: 2 });
    const rust = new Set(
      planned.filter(({ cell }) => cell.side === 'rust').map(({ cell }) => `${cell.workload} ${cell.lane}`),
    );
    for (const { cell, rustLane } of planned.filter((each) => each.cell.side !== 'rust')) {
      expect(rust).toContain(`${cell.workload} ${rustLane}`);
    }
  });
});
