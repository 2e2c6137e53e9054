import { beforeEach, expect, test } from 'vitest';

import type { PlannedRequests } from '../../../src/families/requests/grid.js';
import { close, finish, load, open, prepare } from '../../../src/families/requests/parts/part.js';
import { calls } from './counted-family.js';

const TASK = {
  module: new URL('counted-family.ts', import.meta.url).href,
  family: 'counted',
  options: { rows: 0, workers: 1, engines: {} },
  planned: { cell: { workload: 'count' } } as PlannedRequests,
};
const context = { signal: new AbortController().signal };

beforeEach(() => void (calls.length = 0));

test('written values are read back when the loads of all parts have ended, so that no part pays for it', async () => {
  await open(TASK);
  await prepare(undefined, context);
  expect(calls).toEqual([]);
  const { startedAt, endedAt } = await load(undefined, context);
  expect(endedAt).toBeGreaterThanOrEqual(startedAt);
  expect(calls).toEqual(['request 0', 'request 1']);
  expect(await finish(undefined, context)).toEqual({ rows: 4, sums: {} });
  expect(calls.at(-1)).toBe('read back');
  await close();
  expect(calls.at(-1)).toBe('close');
});

test('a sample whose other parts failed is left behind by the next one, and by the end', async () => {
  await open(TASK);
  await prepare(undefined, context);
  await load(undefined, context);
  await prepare(undefined, context);
  expect(calls).toEqual(['request 0', 'request 1', 'read back']);
  await load(undefined, context);
  await close();
  expect(calls).toEqual(['request 0', 'request 1', 'read back', 'request 0', 'request 1', 'read back', 'close']);
});
