import { expect, test } from 'vitest';

import { CROSSING_NOTE, crossingShareOf, crossingText } from '../../src/report/resource-tables.js';
import { renderRunMarkdown } from '../../src/report/run-report.js';
import { around, completed, runOf } from '../records/sample-run.js';

const rust = { side: 'rust', lane: 'columns', variant: 'column slices' } as const;
const addon = { side: 'napi', lane: 'columns', variant: 'RowInserter.addColumns' } as const;
const javaScript = { side: 'js', lane: 'columns', variant: 'vectors' } as const;

function shareBeside(rustSeconds: readonly number[], node: ReturnType<typeof completed>) {
  return crossingShareOf(runOf([completed(rust, rustSeconds), node]))(node);
}

test('is what the addon takes beyond Rust in its lane, by the comparison of the table', () => {
  const node = completed(addon, around(1));
  const run = runOf([completed(rust, around(0.75)), node]);
  const share = crossingShareOf(run)(node)!;
  const lane = run.comparisons.find(({ kind }) => kind === 'lane')!;
  expect(share.part).toBeCloseTo(0.25, 9);
  expect([share.low, share.high]).toEqual([expect.closeTo(1 - lane.high, 9), expect.closeTo(1 - lane.low, 9)]);
  expect(crossingText(share)).toMatch(/^25% \(2\d%–2\d%\)$/);
  expect(renderRunMarkdown(run)).toContain('| 1.000 | 25% (');
  expect(renderRunMarkdown(run)).toContain(CROSSING_NOTE);
});

test('is inconclusive if the comparison is', () => {
  const share = shareBeside([0.7, 1.3, 0.9, 1.4, 0.6], completed(addon, around(1)))!;
  expect([share.isOpen, crossingText(share)]).toEqual([true, 'inconclusive 10% (-79%–55%)']);
});

test('is not there if nothing shows it', () => {
  expect(shareBeside(around(1), completed(addon, around(1)))).toBeUndefined();
  expect(shareBeside(around(2), completed(addon, around(1)))).toBeUndefined();
  // Another client differs by more than the crossing, and so do other numbers of rows.
  expect(shareBeside(around(0.5), completed(javaScript, around(1)))).toBeUndefined();
  expect(shareBeside(around(0.5), completed({ ...addon, rows: 1000 }, around(1)))).toBeUndefined();
  // The sample run of the layout has nothing else.
  const alone = runOf([completed(addon, around(1))]);
  expect(renderRunMarkdown(alone)).not.toContain('Crossing and JavaScript');
});
