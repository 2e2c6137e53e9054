import { codecFamily } from '../../../src/families/codec/family.js';
import type { PlannedCell } from '../../../src/families/workload.js';
import type { Cell } from '../../../src/records/record.js';
import { sampleCells } from '../sampled-cells.js';

const OPTIONS = { rows: 1000, workers: 1, engines: {} };

/** The cells that can be measured here of the workloads with these beginnings. */
export function codecCells(...beginnings: readonly string[]): readonly PlannedCell[] {
  const planned = codecFamily.plan(OPTIONS);
  return planned.filter(
    ({ cell, skip }) => skip === undefined && beginnings.some((beginning) => cell.workload.startsWith(beginning)),
  );
}

/** Samples cells with as many operations as `rowsOf` says, and checks their sums and each answer. */
export async function sampleCodecCells(planned: readonly PlannedCell[], rowsOf: (cell: Cell) => number): Promise<void> {
  const cells = planned.map((each) => {
    const rows = rowsOf(each.cell);
    return { ...each, cell: { ...each.cell, rows, calls: rows } };
  });
  await sampleCells(await codecFamily.open(OPTIONS, cells), cells);
}
