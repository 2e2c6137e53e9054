import { expect, test } from 'vitest';
import { ceilingFindings, ceilingTable } from '../../bench/lab/ceiling-table.mjs';
import { renderMarkdown, tableBlock } from '../../src/report/document.js';

const around = (rate: number) => [rate, rate * 1.01, rate * 0.99, rate * 1.005, rate * 0.995];

function measured(workload: string, rates: Record<string, number>) {
  const ofAll = Object.entries(rates).map(([name, rate]) => [name, around(rate)] as const);
  return { family: 'kv', workload, connections: 32, batch: 64, tool: 'tool', rates: Object.fromEntries(ofAll) };
}

const MEASUREMENTS = [
  measured('get', { tool: 1_000_000, ours: 1_300_000, crate: 700_000 }),
  measured('set', { tool: 800_000, ours: 760_000, crate: 800_000 }),
];

test('each client over the tool, marked if all of its interval is below nine tenths', () => {
  const { table, notes } = ceilingTable(MEASUREMENTS);
  expect(renderMarkdown(tableBlock(table))).toMatchInlineSnapshot(`
    "| Workload | Connections | Batch | tool | ours | crate |
    | --- | ---: | ---: | ---: | ---: | ---: |
    | get | 32 | 64 | 1.00 M/s | 1.30× (1.28–1.32) | 0.70× (0.69–0.71) ▾ |
    | set | 32 | 64 | 800 K/s | 0.95× (0.93–0.97) | 1.00× (0.98–1.02) |
    "
  `);
  expect(notes).toHaveLength(2);
  expect(ceilingTable(MEASUREMENTS.slice(1)).notes).toHaveLength(1);
});

test('the findings say which client does not reach the tool, and at what', () => {
  expect(ceilingFindings(MEASUREMENTS)).toMatchInlineSnapshot(`
    [
      "ours: at least 90% of tool in 2 of 2.",
      "crate: at least 90% of tool in 1 of 2; below it in 1: get (32 × 64) 0.70× (0.69–0.71).",
    ]
  `);
});
