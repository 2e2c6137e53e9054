import { expect, test } from 'vitest';
import { boundaryFamily } from '../../../src/families/boundary/family.js';
import { plainFunctions } from '../../../src/families/boundary/functions.js';
import { asyncLoopOf, loopOf, resultOf } from '../../../src/families/boundary/loops.js';
import { BOUNDARY_MATRIX } from '../../../src/families/boundary/matrix.js';
import { sampleCells } from '../sampled-cells.js';

/** Not a multiple of the turns of the values, so that a wrong turn shows. */
const CALLS = 1027;

const planned = boundaryFamily.plan({ rows: CALLS, workers: 1, engines: {} });

test('each call returns what was passed to it, by each lane', async () => {
  // Large values have fewer calls in the matrix.
  const cells = planned
    .filter(({ skip }) => skip === undefined)
    .map((each) => ({ ...each, cell: { ...each.cell, rows: CALLS, calls: CALLS } }));
  const measured: string[] = [];
  const open = await boundaryFamily.open({ rows: CALLS, workers: 1, engines: {} }, cells);
  await sampleCells(open, cells, async (id) => void measured.push(id));
  expect(measured).toHaveLength(cells.length);
});

test('each cell has an id of its own, and each lane a workload that there is', () => {
  expect(new Set(planned.map(({ cell }) => cell.id)).size).toBe(planned.length);
  const named = new Set(BOUNDARY_MATRIX.lanes.flatMap(({ workloads }) => workloads));
  expect([...named].toSorted()).toEqual(Object.keys(BOUNDARY_MATRIX.workloads).toSorted());
});

test.each(['nothing', 'numbers', 'bigint', 'callback'])('a loop of %s that is left out is noticed', (workload) => {
  const functions = plainFunctions();
  const idle = {
    ...functions,
    nothing: () => {},
    add: (left: number) => left,
    increment: (value: bigint) => value,
    callBack: (_call: unknown, value: number) => value,
  };
  expect(loopOf(workload, 'call', functions)(CALLS)).toBe(resultOf(workload, CALLS));
  expect(loopOf(workload, 'call', idle)(CALLS)).not.toBe(resultOf(workload, CALLS));
});

test.each([1, 3, 64, 5000])('%i calls in flight are each made once', async (inFlight) => {
  let [most, pending, made] = [0, 0, 0];
  const add = async (left: number, right: number): Promise<number> => {
    pending += 1;
    made += 1;
    most = Math.max(most, pending);
    await Promise.resolve();
    pending -= 1;
    return left + right;
  };
  expect(await asyncLoopOf(add, inFlight)(CALLS)).toBe(resultOf('numbers', CALLS));
  expect([made, most]).toEqual([CALLS, Math.min(inFlight, CALLS)]);
});
