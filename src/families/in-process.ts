import type { Cell } from '../records/record.js';
import type { PlannedCell } from './workload.js';

/** The engine of work that needs neither a database nor a server. */
export const IN_PROCESS = 'in-process';

/** A cell of such work. */
export interface PlannedInProcess extends PlannedCell {
  readonly client?: string;
}

/** The cell as its lane plans it: the lanes of a workload take turns. */
export function plannedBy(
  { rustLane, client }: { readonly rustLane?: string; readonly client?: string },
  cell: Cell,
): PlannedInProcess {
  return {
    cell,
    group: cell.workload,
    ...(rustLane === undefined ? {} : { rustLane }),
    ...(client === undefined ? {} : { client }),
  };
}
