import { describe, expect, it } from 'vitest';

import { contestOf } from '../../src/compare/cell-groups.js';
import { loadFamilies } from '../../src/families/registry.js';
import type { PlannedCell } from '../../src/families/workload.js';
import { leftOut, planRun } from '../../src/runner/plan.js';

const families = await loadFamilies();

const cellsOf = (family: string, more: object = {}): readonly PlannedCell[] =>
  planRun(families, { filters: { family: [family] }, ...more }).plans.flatMap(({ cells }) => cells);

const URLS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  kv: { redis: 'redis://127.0.0.1:1' },
  sql: { mysql: 'mysql://127.0.0.1:1/test' },
};

describe('a quick run', () => {
  it.each(['kv', 'sql', 'rest', 'boundary', 'codec', 'hybrid', 'ingest'])(
    'of %s has the first cell of each client in as many contests as a minute has room for',
    (family) => {
      // With the URL of a server, no cell is skipped for want of one. Planning does not reach it.
      const engines = URLS[family] === undefined ? {} : { engines: URLS[family] };
      const [quick, usual] = [cellsOf(family, { quick: true, ...engines }), cellsOf(family, engines)];
      expect(quick.length).toBeGreaterThan(1);
      expect(quick.length).toBeLessThan(usual.length / 2);
      const clients = quick.map(({ cell, client }) => [contestOf(cell), cell.side, client].join(' '));
      expect(new Set(clients).size).toBe(clients.length);
    },
  );

  it('has the cells that are marked, if a family marks some', () => {
    expect(cellsOf('measurements', { quick: true }).every(({ isQuick }) => isQuick === true)).toBe(true);
  });

  it.each(['flight', 'memory', 'mysql'])('of the engine %s has the fastest lane of each client', (engine) => {
    const engines = { mysql: 'mysql://127.0.0.1:1/test' };
    const run = (quick: boolean) =>
      planRun(families, { filters: { engine: [engine] }, engines: engine === 'mysql' ? engines : {}, quick });
    const [quick, usual] = [true, false].map((flag) => run(flag).plans.flatMap(({ cells }) => cells));
    const ours = quick!.filter(({ client }) => client === undefined);
    expect(new Set(ours.map(({ cell }) => cell.lane))).toEqual(new Set(['columns', 'columnar']));
    expect(new Set(quick!.map(({ cell }) => cell.workload)).size).toBe(4);
    expect(leftOut(usual!, quick!)).toMatch(/lanes .*arrow-ipc, .*stream/);
  });

  it('has one contest of each workload before the second of any', () => {
    const [quick, usual] = [true, false].map((flag) => cellsOf('hybrid', { quick: flag }));
    expect(new Set(quick!.map(({ cell }) => cell.workload))).toContain('point_lookup');
    expect(new Set(quick!.map(({ cell }) => cell.transport)).size).toBe(1);
    expect(leftOut(usual!, quick!)).toMatch(
      /workloads .*; lanes batch; clients tonic, grpc-js; transports grpc, hybrid; /,
    );
    expect(leftOut(quick!, quick!)).toBe('');
  });

  it('has each workload, batch, lane and number of workers or connections that the request names', () => {
    const workload = ['get', 'mset', 'set'];
    const named = { connections: [1, 32, 256], batch: [1, 16, 256], filters: { family: ['kv'], workload } };
    const requests = cellsOf('kv', { quick: true, engines: URLS['kv'], ...named }).map(({ cell }) => cell);
    const usual = cellsOf('kv', { engines: URLS['kv'], ...named });
    const dimensionsOf = (cells: readonly PlannedCell['cell'][]): Set<string> =>
      new Set(cells.map((cell) => [cell.workload, cell.connections, cell.batch].join(' ')));
    expect(dimensionsOf(requests)).toEqual(dimensionsOf(usual.map(({ cell }) => cell)));
    expect(requests.length).toBeLessThan(usual.length);
    const filters = { family: ['measurements'], lane: ['row', 'staged-row', 'stream'] };
    const rows = cellsOf('measurements', { quick: true, workers: [1, 2], filters }).map(({ cell }) => cell);
    expect(new Set(rows.map(({ lane }) => lane))).toEqual(new Set(filters.lane));
    expect(new Set(rows.map(({ workers }) => workers))).toEqual(new Set([1, 2]));
  });

  it('has all cells that a filter leaves, if there is time for them', () => {
    const filters = { family: ['boundary'], workload: ['nothing'], side: ['napi'] };
    const [quick, usual] = [true, undefined].map((flag) =>
      planRun(families, { filters, quick: flag }).plans.flatMap(({ cells }) => cells.map(({ cell }) => cell.id)),
    );
    expect(quick).toEqual(usual);
  });
});

describe('a usual run', () => {
  it('leaves out workloads that show little that others do not, unless they are named', () => {
    const workloadsOf = (more: object): Set<string> => new Set(cellsOf('sql', more).map(({ cell }) => cell.workload));
    expect(workloadsOf({})).not.toContain('update_where');
    expect(workloadsOf({ filters: { family: ['sql'], workload: ['update_where'] } })).toEqual(
      new Set(['update_where']),
    );
    expect(workloadsOf({ all: true })).toContain('update_where');
  });

  it('asks which workload is meant by a word that names one of a family not measured by default, and begins the name of a usual one', () => {
    const run = (filters: object) => planRun(families, { filters, engines: URLS['sql']! });
    expect(() => run({ workload: ['insert'] })).toThrow(
      expect.objectContaining({
        code: 'BB_USAGE',
        message: '--workload insert may mean insert.bulk, or insert of the sql family',
        hint: 'Name one: --workload insert.bulk, or --family sql --workload insert.',
      }),
    );
    expect(run({ family: ['sql'], workload: ['insert'] }).plans.map(({ family }) => family.name)).toEqual(['sql']);
  });
});
