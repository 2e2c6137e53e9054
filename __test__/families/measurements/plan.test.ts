import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { textsOf } from '../../../src/families/measurements/closed-forms.js';
import { engineLanes, matrix } from '../../../src/families/measurements/matrix.js';
import { planMeasurements } from '../../../src/families/measurements/plan.js';
import { folderOfSuite } from '../../temporary-folder.js';

const ids = (rows: number, workers: number): string[] => planMeasurements({ rows, workers }).map(({ cell }) => cell.id);

/** The path of a file instead of `hyperd`. It need not run: plans only check that it exists. */
const hyperd = join(folderOfSuite(), 'hyperd');

beforeAll(() => {
  writeFileSync(hyperd, '');
  vi.stubEnv('HYPERD_PATH', hyperd);
});
afterAll(() => void vi.unstubAllEnvs());

describe('the plan of the family', () => {
  it('has each cell once, with ids that do not depend on the rows', () => {
    const all = ids(1000, 2);
    expect(new Set(all).size).toBe(all.length);
    expect(ids(5000, 2)).toEqual(all);
    expect(all).toContain('measurements/insert.bulk/staged-row/napi/embedded/async/w1');
    expect(all).toContain('measurements/query.full_scan/columnar/js/flechette/sync/w1');
    expect(all).toContain('measurements/insert.bulk/row/js/embedded/duckdb-node-api/async/w1');
    expect(all).toContain('measurements/insert.bulk/columns/napi/hyper/ipc/async/w2');
    expect(all).toContain('measurements/query.full_scan/columnar/rust/hyper/grpc-adaptive/sync/w1');
  });

  it('leaves out the cells of several workers if there is one', () => {
    const one = ids(1000, 1);
    expect(one).toEqual(ids(1000, 4).filter((id) => !id.endsWith('/w4')));
    expect(ids(1000, 4).length).toBeGreaterThan(one.length);
  });

  it('gives slow lanes fewer rows, and says so in their cells', () => {
    const rows = 10_000_000;
    const byId = new Map(planMeasurements({ rows, workers: 2 }).map(({ cell }) => [cell.id, cell]));
    const naive = byId.get('measurements/insert.bulk/naive-row/napi/memory/async/w1');
    expect([naive?.rows, naive?.bytes]).toEqual([250_000, 6_000_000]);
    expect(byId.get('measurements/insert.bulk/staged-row/napi/memory/async/w2')?.rows).toBe(rows);
  });

  it('counts the rows that cross, and spares slow lanes no row that does not', () => {
    const planned = planMeasurements({ rows: 10_000_000, workers: 2 });
    const rowsOf = (id: string): unknown => {
      const found = planned.find(({ cell }) => cell.id === `measurements/${id}`);
      return [found?.cell.rows, found?.tableRows];
    };
    expect(rowsOf('query.full_scan/objects/js/mysql/mysql2/async/w1')).toEqual([1_000_000, 1_000_000]);
    expect(rowsOf('query.filtered/objects/js/mysql/mysql2/async/w1')).toEqual([1_000_000, 10_000_000]);
    expect(rowsOf('query.aggregation/objects/js/mysql/mysql2/async/w1')).toEqual([10, 10_000_000]);
    expect(rowsOf('query.aggregation/objects/napi/embedded/async/w2')).toEqual([20, 10_000_000]);
    const counted = (id: string): unknown => {
      const { bytes, queries } = planned.find(({ cell }) => cell.id === `measurements/${id}`)!.cell;
      return { bytes, queries };
    };
    expect(counted('query.aggregation/objects/napi/embedded/async/w2')).toEqual({ queries: 2 });
    expect(counted('query.filtered/objects/napi/embedded/async/w1')).toEqual({ bytes: 24_000_000 });
    const bytes = 500_000 * Object.values(textsOf(499_999)).join('').length;
    expect(counted('query.texts/cursor/napi/embedded/async/w1')).toEqual({ bytes });
  });

  it('gives an engine of its own limits the lanes that it can do, within them', () => {
    const on = (engine: string) => engineLanes.filter((lane) => lane.engine === engine && lane.client === undefined);
    const without = (engine: string): string[] => {
      const names = new Set(on(engine).map(({ lane }) => lane));
      return on('memory').flatMap(({ lane }) => (names.has(lane) ? [] : [lane]));
    };
    expect(without('flight')).toEqual(['naive-row', 'naive-objects', 'objects-number']);
    expect(without('mysql')).toEqual([...without('flight'), 'chunks', 'cursor', 'cursor']);
    for (const lane of [...on('flight'), ...on('mysql')]) {
      expect([lane.flavors, lane.workers, lane.transports]).toEqual([['async'], ['one'], [undefined]]);
    }
    const limits = new Map(on('flight').map(({ lane, maxRows }) => [lane, maxRows]));
    expect([limits.get('stream'), limits.get('columnar')]).toEqual([1_000_000, undefined]);
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
    const engines = planned.map(({ group }) => group.split('|')[1]);
    expect(engines.filter((engine, at) => engine !== engines[at - 1])).toEqual(Object.keys(matrix.engines));
  });

  it('skips what an engine without SQL cannot do, and nothing else', () => {
    // The URL of a server, so that no server is looked for.
    const engines = { mysql: 'mysql://localhost/bench' };
    const skipped = planMeasurements({ rows: 1000, workers: 2, engines }).filter(
      ({ cell, skip }) => skip !== undefined && !['hyper', 'sail'].includes(cell.engine!),
    );
    expect(new Set(skipped.map(({ cell }) => `${cell.workload} ${cell.engine}`))).toEqual(
      new Set(['query.filtered memory', 'query.aggregation memory']),
    );
    expect(skipped[0]?.skip).toBe('the engine memory runs no SQL: it can only be scanned whole');
  });

  it('has both flavors of each lane in Rust in usual runs, and the first one in quick runs', () => {
    const planned = planMeasurements({ rows: 1000, workers: 2 });
    const find = (id: string) => planned.find(({ cell }) => cell.id === `measurements/${id}`)!;
    for (const lane of [
      'insert.bulk/row',
      'insert.bulk/columns',
      'insert.bulk/arrow-ipc',
      'query.full_scan/objects',
      'query.full_scan/stream',
      'query.full_scan/columnar',
      'query.full_scan/arrow-ipc',
    ]) {
      const [sync, async] = ['sync', 'async'].map((flavor) => find(`${lane}/rust/embedded/${flavor}/w1`));
      expect([lane, sync!.askedBy, async!.askedBy]).toEqual([lane, undefined, undefined]);
      expect([lane, async!.isQuick]).toEqual([lane, undefined]);
    }
    expect(find('insert.bulk/columns/rust/embedded/async/w2').askedBy).toEqual(['workers']);
    expect(find('insert.bulk/row/rust/embedded/async/w2').askedBy).toEqual(['workers']);
    expect(find('query.full_scan/columnar/rust/embedded/sync/w1').isQuick).toBe(true);
    const ofNode = planned.filter(({ cell, askedBy }) => cell.side !== 'rust' && askedBy?.includes('all'));
    expect(ofNode.map(({ cell }) => cell.id)).toEqual([]);
  });

  it('names a lane in Rust for every cell of Node that reads no texts', () => {
    const planned = planMeasurements({ rows: 1000, workers: 2 });
    const rust = new Set(
      planned.filter(({ cell }) => cell.side === 'rust').map(({ cell }) => `${cell.workload} ${cell.lane}`),
    );
    const isOfTexts = ({ cell }: { cell: { workload: string } }): boolean => cell.workload === 'query.texts';
    for (const { cell, rustLane } of planned.filter((each) => each.cell.side !== 'rust' && !isOfTexts(each))) {
      expect(rust).toContain(`${cell.workload} ${rustLane}`);
    }
    expect(planned.filter((each) => isOfTexts(each) && each.rustLane !== undefined)).toEqual([]);
  });
});

describe('the transports of an engine', () => {
  const hyperCells = (uri?: string) =>
    planMeasurements({ rows: 1000, workers: 2, engines: uri === undefined ? {} : { hyper: uri } }).filter(
      ({ cell }) => cell.engine === 'hyper',
    );
  const transportsOf = (cells: readonly { cell: { transport?: string } }[]): unknown[] => [
    ...new Set(cells.map(({ cell }) => cell.transport)),
  ];
  /** The reasons of the skipped cells, each with its transports. */
  const reasons = (uri?: string): Record<string, unknown[]> => {
    const skipped = hyperCells(uri).filter(({ skip }) => skip !== undefined);
    return Object.fromEntries(
      [...new Set(skipped.map(({ skip }) => skip!))].map((reason) => [
        reason,
        transportsOf(skipped.filter(({ skip }) => skip === reason)),
      ]),
    );
  };

  it('come from the matrix, and an engine without a choice has none', () => {
    const planned = planMeasurements({ rows: 1000, workers: 2 });
    expect(transportsOf(hyperCells())).toEqual(['tcp', 'ipc', 'grpc-sync', 'grpc-adaptive', 'grpc-async']);
    expect(transportsOf(planned.filter(({ cell }) => cell.engine !== 'hyper'))).toEqual([undefined]);
  });

  it('are interleaved, with all sides and lanes of a workload', () => {
    const workloads = Object.keys(matrix.workloads).filter((workload) => workload !== 'query.texts');
    expect(new Set(hyperCells().map(({ cell, group }) => `${cell.workload} ${group}`))).toEqual(
      new Set(workloads.map((workload) => `${workload} ${workload}|hyper`)),
    );
  });

  it('that take no rows say so once for each lane in', () => {
    expect(reasons()).toEqual({ 'gRPC is for queries only': ['grpc-sync'] });
    const skipped = hyperCells().filter(({ skip }) => skip !== undefined);
    const lanesIn = engineLanes.filter(
      ({ engine, workloads, client }) =>
        engine === 'hyper' && workloads.includes('insert.bulk') && client === undefined,
    );
    expect(skipped.map(({ cell }) => `${cell.side} ${cell.lane}`)).toEqual(
      lanesIn.map(({ side, lane }) => `${side} ${lane}`),
    );
  });

  it('are all there for a file, and one alone if the URI names it or a server', () => {
    expect(reasons('hyper:/tmp/x.hyper')).toEqual({ 'gRPC is for queries only': ['grpc-sync'] });
    expect(reasons('hyper:?transport=ipc')).toEqual({
      'the URI of the engine hyper names the transport ipc': ['tcp', 'grpc-sync', 'grpc-adaptive', 'grpc-async'],
    });
    vi.stubEnv('HYPERD_PATH', '/no/such/hyperd');
    expect(reasons('hyper://localhost:7483/bench')).toEqual({
      'a hyper server that runs already is reached over tcp alone': ['ipc', 'grpc-sync', 'grpc-adaptive', 'grpc-async'],
    });
    vi.stubEnv('HYPERD_PATH', hyperd);
  });

  it('are skipped if there is no server to start', () => {
    vi.stubEnv('HYPERD_PATH', '/no/such/hyperd');
    expect(Object.keys(reasons())).toEqual(['HYPERD_PATH is /no/such/hyperd, but there is no hyperd']);
    expect(hyperCells().every(({ skip }) => skip !== undefined)).toBe(true);
    vi.stubEnv('HYPERD_PATH', hyperd);
  });
});
