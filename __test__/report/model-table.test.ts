import { expect, test } from 'vitest';
import type { CostModel, MechanismCosts, ModelledCell } from '../../src/records/record.js';
import { renderMarkdown } from '../../src/report/document.js';
import { modelBlocks } from '../../src/report/model-table.js';

const pieces = { call: 1, row: 1, number: 1, text: 0, byte: 0 };

function mechanismOf(what: 'bytes' | 'rows', client: string | undefined, heldOut: ModelledCell[]): MechanismCosts {
  return {
    what,
    direction: 'in',
    side: 'napi',
    lane: 'objects',
    variant: client ?? 'function',
    ...(client === undefined ? {} : { client }),
    costs: [{ of: 'call', seconds: 1e-6, low: 0.9e-6, high: 1.1e-6 }],
    covariance: [[0]],
    knees: [],
    inseparable: {},
    most: pieces,
    mostPerRow: pieces,
    deviation: 0.1,
    degrees: 3,
    worst: 0.1,
    fitted: [],
    heldOut,
  };
}

const cell = (id: string, measured: number): ModelledCell => {
  return { id, measured, predicted: 1e-6, low: 0.8e-6, high: 1.2e-6 };
};

test('counts crossings apart from floors, with the measurements that the intervals cover', () => {
  const model: CostModel = {
    mechanisms: [
      mechanismOf('rows', 'napi-rs', [cell('a', 1e-6), cell('b', 1.22e-6)]),
      mechanismOf('bytes', 'napi-rs', [cell('c', 2e-6), cell('d', 1e-6)]),
      mechanismOf('rows', undefined, [cell('e', 1e-6)]),
    ],
    unfitted: [],
  };
  const text = renderMarkdown(modelBlocks(model));
  const [crossings, floors] = text.split('### ').slice(1);
  expect(crossings).toContain('| b | 1.22 µs | 1.00 µs | 800 ns–1.20 µs (outside) | 0.82 |');
  expect(crossings).toContain(
    '3 of 4 predictions (75%) are within 25% of what was measured. The 95% interval covers 2 of 4 (50%, the others are marked (outside)).',
  );
  expect(crossings).toContain(
    '- Of rows: 2 of 2 predictions (100%) are within 25% of what was measured. The 95% interval covers 1 of 2',
  );
  expect(floors).toMatch(/^Predicted and measured, where nothing crosses\n/);
  expect(floors).toContain('The 95% interval covers 1 of 1 (100%).');
  expect(floors).not.toContain('Of rows');
});

test('a model of an earlier version, without intervals, covers nothing', () => {
  const { low: _, high: __, ...bare } = cell('a', 1e-6);
  const text = renderMarkdown(modelBlocks({ mechanisms: [mechanismOf('rows', 'napi-rs', [bare])], unfitted: [] }));
  expect(text).toContain('| a | 1.00 µs | 1.00 µs | 1.00 |');
  expect(text).not.toContain('interval');
});
