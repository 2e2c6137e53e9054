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
      ...completed({ ...fields, calls: CALLS, crossing }, [seconds, seconds, seconds]),
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
  expect(renderMarkdown(modelBlocks(model))).toMatchInlineSnapshot(`
    "## What crossing costs

    | Crosses | Mechanism | A call | A row | A number | A text | A byte | Beyond | Worst residual |
    | --- | --- | ---: | ---: | ---: | ---: | ---: | --- | ---: |
    | rows in | napi · objects | 300 ns | 90 ns | 20 ns | 120 ns | 500 ps |  | 0.0% |

    The time of a call is the sum of its pieces times their costs. Beyond a size that is named, each further row or byte costs a multiple, or a call costs a fixed amount more. A dash: the cost is included in the cost of the pieces before it, since the ladder always had as many of both.

    - rows in by json (napi): no costs, for 3 cells, too few to fit a cost of each piece.

    ### Predicted and measured, where nothing crosses

    | Cell that was not fitted | Measured | Predicted | 95% interval | Predicted / measured |
    | --- | ---: | ---: | ---: | ---: |
    | boundary/rows_in.14/objects | 8.40 µs | 8.40 µs | 8.40 µs–8.40 µs | 1.00 |

    1 of 1 predictions (100%) are within 25% of what was measured. The 95% interval covers 1 of 1 (100%).
    "
  `);
});

test('a run without ladders has none', () => {
  expect(costModelOf(sampleRun().records)).toBeUndefined();
  expect(costModelOf(recordsOf('json', LADDER.slice(0, 3)))).toBeUndefined();
  expect(modelBlocks(undefined)).toEqual([]);
});
