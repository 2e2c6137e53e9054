import { expect, test } from 'vitest';

import { actionFigures } from '../../src/report/action-benchmark.js';
import { completed, runOf } from '../records/sample-run.js';

test('a figure is the time of one call, query, row or operation, also if calls have several items', () => {
  const cell = { side: 'js', lane: 'call', variant: 'a' } as const;
  const one = completed(cell, [1, 1, 1]);
  const run = runOf([
    { ...one, id: 'rows', rows: 1000 },
    { ...one, id: 'calls', rows: undefined, calls: 100, items: 10_000 },
    { ...one, id: 'queries', rows: 1000, queries: 10 },
    { ...one, id: 'operations', rows: undefined, operations: 500 },
  ] as Parameters<typeof runOf>[0]);
  expect(actionFigures(run).map(({ name, unit, value }) => [name, unit, value])).toEqual([
    ['rows', 'ns/row', 1e6],
    ['calls', 'ns/call', 1e7],
    ['queries', 'ns/query', 1e8],
    ['operations', 'ns/operation', 2e6],
  ]);
});
