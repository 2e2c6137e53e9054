import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type GridTarget,
  type RequestMatrix,
  operationsOf,
  planRequests,
  requestsOf,
} from '../../../src/families/requests/grid.js';
import type { RequestValues } from '../../../src/families/requests/options.js';
import type { FamilyOptions } from '../../../src/families/workload.js';

type GridOptions = FamilyOptions & RequestValues;

const matrix: RequestMatrix = {
  description: 'echoes',
  defaultOperations: 1000,
  mostTimesOperations: 10,
  grid: { connections: [1, 2, 4], batch: [1, 16, 256] },
  default: { connections: [2], batch: [1, 16] },
  workloads: { echo: { direction: 'out' }, echoes: { direction: 'in', operations: 50 } },
  lanes: [
    { side: 'rust', lane: 'call', variant: 'Client', workloads: ['echo'] },
    { side: 'rust', lane: 'batch', variant: 'Client', workloads: ['echo', 'echoes'] },
    { side: 'js', lane: 'call', rustLane: 'call', variant: 'client', workloads: ['echo'], client: 'client' },
    {
      side: 'js',
      lane: 'batch',
      rustLane: 'batch',
      variant: 'peer',
      workloads: ['echo'],
      client: 'peer',
      setting: 'pipeline',
      peer: true,
    },
    { side: 'napi', lane: 'call-async', rustLane: 'call', variant: 'async fn', workloads: ['echo'] },
  ],
};
const place: GridTarget = {
  family: 'loop',
  engine: 'server',
  laneSkip: ({ client }) => (client === 'peer' ? `${client} is not installed` : undefined),
};
const options: GridOptions = { rows: 7, workers: 3, engines: {} };

const plan = (more: Partial<GridOptions> = {}, where: GridTarget = place) =>
  planRequests(matrix, where, { ...options, ...more });
const idsOf = (more: Partial<GridOptions> = {}): string[] => plan(more).map(({ cell }) => cell.id);

describe('planRequests', () => {
  it('plans calls one at a time, and batches for the larger ones or if there are no calls', () => {
    expect(idsOf()).toEqual([
      'loop/echo/call/rust/server/c2/b1',
      'loop/echo/call/js/server/client/c2/b1',
      'loop/echo/call-async/napi/server/c2/b1',
      'loop/echo/batch/rust/server/c2/b16',
      'loop/echoes/batch/rust/server/c2/b1',
      'loop/echoes/batch/rust/server/c2/b16',
    ]);
  });

  it('takes the numbers that are asked for, or the whole grid', () => {
    expect(idsOf({ connections: [8, 3, 8], batch: [5] })).toEqual([
      'loop/echo/batch/rust/server/c3/b5',
      'loop/echo/batch/rust/server/c8/b5',
      'loop/echoes/batch/rust/server/c3/b5',
      'loop/echoes/batch/rust/server/c8/b5',
    ]);
    const all = plan({ connections: 'all', batch: 'all' }).map(({ cell }) => cell);
    expect(new Set(all.map(({ connections }) => connections))).toEqual(new Set([1, 2, 4]));
    expect(new Set(all.map(({ batch }) => batch))).toEqual(new Set([1, 16, 256]));
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
  });

  it('has more operations for larger batches, unless the user says how many', () => {
    const operationsOf = (more: Partial<GridOptions>): number[] => plan(more).map(({ cell }) => cell.operations!);
    expect(operationsOf({})).toEqual([1000, 1000, 1000, 10_000, 50, 500]);
    expect(operationsOf({ batch: [4] })).toEqual([4000, 200]);
    expect(new Set(operationsOf({ operations: 77 }))).toEqual(new Set([77]));
  });

  it('keeps together what is compared, and says the rate', () => {
    const [first, second, third, fourth] = plan({ rate: 500 });
    expect([second!.group, third!.group]).toEqual([first!.group, first!.group]);
    expect(fourth!.group).not.toBe(first!.group);
    expect(first!.cell.rate).toBe(500);
    expect([second!.rustLane, third!.rustLane]).toEqual(['call', 'call']);
  });

  it('marks the lanes of few or quick runs, and names the driver', () => {
    const [first] = matrix.lanes;
    const lanes: RequestMatrix['lanes'] = [
      { ...first!, runs: 'quick' },
      { ...first!, driver: 'one-thread', runs: 'named' },
      { ...first!, setting: 'pipelined', client: 'crate' },
      { ...first!, setting: 'pipelined', driver: 'all-cores' },
    ];
    const cells = planRequests({ ...matrix, lanes }, place, options);
    expect(cells.map(({ cell, askedBy, isQuick }) => [cell.id, cell.driver, askedBy, isQuick])).toEqual([
      ['loop/echo/call/rust/server/c2/b1', undefined, undefined, true],
      ['loop/echo/call/rust/server/one-thread/c2/b1', 'one-thread', ['lane'], undefined],
      ['loop/echo/call/rust/server/crate/pipelined/c2/b1', undefined, undefined, undefined],
      ['loop/echo/call/rust/server/pipelined/all-cores/c2/b1', 'all-cores', undefined, undefined],
    ]);
  });

  it('has the cells of another engine if it is named, with the lanes of that engine', () => {
    const [first] = matrix.lanes;
    const lanes: RequestMatrix['lanes'] = [
      { ...first!, runs: 'named' },
      { ...first!, setting: 'pipelined', engine: 'server' },
      { ...first!, setting: 'divided', engine: 'cluster' },
    ];
    const other: GridTarget = { ...place, engine: 'cluster', isOther: true };
    const cells = [place, other].flatMap((where) => planRequests({ ...matrix, lanes }, where, options));
    expect(cells.map(({ cell, askedBy }) => [cell.id, askedBy])).toEqual([
      ['loop/echo/call/rust/server/c2/b1', ['lane']],
      ['loop/echo/call/rust/server/pipelined/c2/b1', undefined],
      ['loop/echo/call/rust/cluster/c2/b1', ['engine', 'lane']],
      ['loop/echo/call/rust/cluster/divided/c2/b1', ['engine']],
    ]);
  });

  it('skips with the reason', () => {
    const peers = plan({ peers: true }).filter(({ client }) => client === 'peer');
    expect(peers.map(({ cell, skip }) => [cell.id, skip])).toEqual([
      ['loop/echo/batch/js/server/peer/pipeline/c2/b16', 'peer is not installed'],
    ]);
    const skips = plan({}, { ...place, skip: 'no server' }).map(({ skip }) => skip);
    expect(new Set(skips)).toEqual(new Set(['no server']));
  });
});

describe('operationsOf', () => {
  it('covers every operation once', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 3000 }), fc.integer({ min: 1, max: 300 }), (operations, batch) => {
        const cell = { operations, batch };
        let next = 0;
        for (let index = 0; index < requestsOf(cell); index += 1) {
          const { from, to } = operationsOf(cell, index);
          expect(from).toBe(next);
          expect(to).toBeGreaterThan(from);
          next = to;
        }
        expect(next).toBe(operations);
      }),
    );
  });
});
