import { expect, test } from 'vitest';
import { RUNTIME_FFI } from '../../../src/clients/runtime-ffi.js';
import { boundaryFamily } from '../../../src/families/boundary/family.js';
import { plainFunctions } from '../../../src/families/boundary/functions.js';
import { asyncLoopOf, loopOf, resultOf } from '../../../src/families/boundary/loops.js';
import { BOUNDARY_MATRIX } from '../../../src/families/boundary/matrix.js';
import { RowColumns, RowTexts, kindOf, sumOfRows } from '../../../src/families/boundary/rows.js';
import { sampleCells } from '../sampled-cells.js';

/** Not a multiple of the turns of the values, so that a wrong turn shows. */
const CALLS = 1027;

const planned = boundaryFamily.plan({ rows: CALLS, workers: 1, engines: {} });

/** The most rows, and the most bytes, of the ladders' cells that are called: larger ones take seconds. */
const MOST_ROWS = 1000;
const MOST_BYTES = 300_000;

test('each call returns what was passed to it, by each lane', async () => {
  const cells = planned
    // `__test__/addon/runtime-ffi.test.ts` has the calls by what only some runtimes have.
    .filter(({ skip, client }) => skip === undefined && client !== RUNTIME_FFI)
    .filter(({ cell: { crossing } }) => (crossing?.rows ?? 0) <= MOST_ROWS && (crossing?.bytes ?? 0) <= MOST_BYTES)
    .map((each) => {
      // Large values have fewer calls in the matrix.
      const calls = each.askedBy === undefined ? CALLS : (each.cell.crossing?.bytes ?? 0) > 10_000 ? 5 : 27;
      return { ...each, cell: { ...each.cell, rows: calls, calls } };
    });
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

test('a usual run leaves out the ladders, which are asked for by the names of their workloads', () => {
  const usual = planned.filter(({ askedBy }) => askedBy === undefined);
  expect(new Set(usual.map(({ cell }) => cell.workload).filter((name) => name.startsWith('bytes_in.')))).toEqual(
    new Set(['bytes_in.16', 'bytes_in.4096', 'bytes_in.1048576']),
  );
  expect(usual.some(({ cell }) => /^rows_|^text_..?.?\.\d/.test(cell.workload))).toBe(false);
  const named = planned.filter(({ askedBy }) => askedBy !== undefined);
  expect(named.every(({ askedBy, cell }) => askedBy?.join() === 'workload' && cell.crossing !== undefined)).toBe(true);
  const rows = named.find(({ cell }) => cell.id === 'boundary/rows_in.wide.10/objects/napi/napi-rs')!;
  expect(rows.cell.crossing).toEqual({
    what: 'rows',
    direction: 'in',
    rows: 10,
    numbers: 80,
    texts: 0,
    bytes: 0,
    client: 'napi-rs',
  });
});

test.each([
  [{ description: '', numbers: 2, characters: 12 }],
  [{ description: '', numbers: 2, characters: 200 }],
  [{ description: '', numbers: 4, characters: 0 }],
  [{ description: '', numbers: 8, characters: 0 }],
])('rows of %j have the sum of the closed form, as objects and as columns', (shape) => {
  for (const count of [1, 26, 27, 999, 1000, 2003]) {
    const { make, sum, write } = kindOf(shape);
    const rows = make(count, shape.characters);
    expect(sum(rows)).toBe(sumOfRows(shape, count));
    const columns = new RowColumns(shape, count);
    write(rows, columns);
    expect(columns.sum(count * shape.characters)).toBe(sumOfRows(shape, count));
  }
});

test('texts of several bytes a character are written and read', () => {
  const texts = new RowTexts(3, 4);
  texts.begin();
  for (const text of ['абвг', 'aé', 'я'.repeat(4)]) texts.add(text);
  expect([...texts.offsets]).toEqual([0, 8, 11, 19]);
  expect(texts.sum(19)).toBe([...'гéя'].reduce((sum, letter) => sum + letter.charCodeAt(0), 0));
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
