import type { Cell } from '../records/record.js';
import { UNKNOWN } from './format.js';

/** The variant of a cell: `RowInserter.addRow`, or `RowInserter.addRow × 2` for two workers. */
export function variantOf({ variant, workers, runtime }: Cell): string {
  const several = workers !== undefined && workers > 1 ? `${variant} × ${workers}` : variant;
  return runtime === undefined ? several : `${several}, on ${runtime}`;
}

/** The variant with its side: `napi · RowInserter.addRow`. */
export function sideAndVariantOf(cell: Cell): string {
  return `${cell.side} · ${variantOf(cell)}`;
}

/** The column of transports, which a table has only if some of its cells have one. */
export interface TransportColumn {
  /** The title of the column; empty if there is no column. */
  readonly title: readonly string[];
  /** The cell of the column in one row; empty if there is no column. */
  of(cell: Pick<Cell, 'transport'>): readonly string[];
}

/** Makes the column for a table of these cells. */
export function transportColumn(cells: readonly Pick<Cell, 'transport'>[]): TransportColumn {
  const isNeeded = cells.some(({ transport }) => transport !== undefined);
  return isNeeded
    ? { title: ['Transport'], of: ({ transport }) => [transport ?? UNKNOWN] }
    : { title: [], of: () => [] };
}

/** The name of a cell in a table without a column of flavors: `sync column slices`, `napi · executeQuery`. */
export function nameOf(cell: Cell): string {
  if (cell.side !== 'rust') return sideAndVariantOf(cell);
  return cell.flavor === undefined ? variantOf(cell) : `${cell.flavor} ${variantOf(cell)}`;
}
