import type { PlannedCell } from '../../src/families/workload.js';
import type { Cell } from '../../src/records/record.js';

/** A planned cell with a name, which is its id, its lane and its variant. */
export function plannedCell(name: string, cell: Partial<Cell> = {}, rest: Partial<PlannedCell> = {}): PlannedCell {
  const usual = { family: 'f', workload: 'w', side: 'napi', engine: 'e', rows: 1 } as const;
  return { cell: { id: name, lane: name, variant: name, ...usual, ...cell }, group: 'g', ...rest };
}
