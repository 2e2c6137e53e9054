/** The cost of each way across the boundary: the answer of the family `boundary`. */
import { eachOf } from './call-table.js';
import { groupBy } from '../compare/cell-groups.js';
import type { CompletedRecord } from '../records/record.js';

/** Whether a cell does nothing but cross, or is the floor of such a cell. */
export function isCrossing({ family }: Pick<CompletedRecord, 'family'>): boolean {
  return family === 'boundary';
}

/** A line for each workload: the time of a call by each way that crosses, and by JavaScript and Rust alone, without crossing. */
export function crossingLines(records: readonly CompletedRecord[]): string[] {
  const workloads = groupBy(records.filter(isCrossing), ({ workload, batch, runtime }) =>
    JSON.stringify([workload, batch, runtime]),
  );
  return workloads.map((cells) => {
    const { workload, batch = 1, runtime } = cells[0]!;
    const floors = cells.filter(isFloor);
    const ways = cells.filter((cell) => !isFloor(cell));
    const where = [...(batch === 1 ? [] : [`${batch} at once`]), ...(runtime === undefined ? [] : [runtime])];
    const name = where.length === 0 ? workload : `${workload} (${where.join(', ')})`;
    const parts = [timesOf(ways), floors.length === 0 ? '' : `without crossing ${timesOf(floors)}`];
    return `${name}: ${parts.filter((part) => part !== '').join('; ')}`;
  });
}

/** Whether nothing crosses: JavaScript or Rust alone. WebAssembly is called from JavaScript, and counts as a way across. */
function isFloor({ side, variant }: CompletedRecord): boolean {
  return side === 'rust' || variant.startsWith('JavaScript');
}

function timesOf(cells: readonly CompletedRecord[]): string {
  return cells.map((record) => `${record.variant} ${eachOf(record)}`).join(', ');
}
