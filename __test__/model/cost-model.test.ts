import { expect, test } from 'vitest';
import { costModelOf } from '../../src/model/cost-model.js';
import type { CompletedRecord } from '../../src/records/record.js';
import { renderMarkdown } from '../../src/report/document.js';
import { modelBlocks } from '../../src/report/model-table.js';
import { completed, sampleRun } from '../records/sample-run.js';
import { COSTS, LADDER, rowsOf, timeOf } from './synthetic.js';

const CALLS = 10;

function recordsOf(lane: string, crossings: typeof LADDER): CompletedRecord[] {
  return crossings.map((crossing, index) => {
    const seconds = CALLS * timeOf(crossing, COSTS);
    const fields = { family: 'boundary', workload: `rows_in.${index}`, side: 'napi', lane, variant: lane } as const;
    return {
      ...completed({ ...fields, rows: CALLS, calls: CALLS, crossing }, [seconds, seconds, seconds]),
      id: `boundary/rows_in.${index}/${lane}`,
    };
  });
}

test('a run has a model of the mechanisms whose ladders it has, and names the others', () => {
  const heldOut = { ...rowsOf(30, { numbers: 2, texts: 1, bytes: 40 }), isHeldOut: true };
  const model = costModelOf([
    ...recordsOf('objects', [...LADDER, heldOut]),
    ...recordsOf('json', LADDER.slice(0, 3)),
    ...sampleRun().records,
  ])!;
  expect(model.mechanisms.map(({ lane }) => lane)).toEqual(['objects']);
  expect(renderMarkdown(modelBlocks(model))).toMatchInlineSnapshot();
});

test('a run without ladders has none', () => {
  expect(costModelOf(sampleRun().records)).toBeUndefined();
  expect(costModelOf(recordsOf('json', LADDER.slice(0, 3)))).toBeUndefined();
  expect(modelBlocks(undefined)).toEqual([]);
});
