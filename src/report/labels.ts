import type { Cell, CompletedRecord } from '../records/record.js';
import { UNKNOWN, formatMebibytes, formatShortRate } from './format.js';

/** `RowInserter.addRow`, and `RowInserter.addRow × 2` for two workers. */
export function variantOf(cell: Cell): string {
  return cell.workers !== undefined && cell.workers > 1 ? `${cell.variant} × ${cell.workers}` : cell.variant;
}

/** With the side: `napi · RowInserter.addRow`. */
export function sideAndVariantOf(cell: Cell): string {
  return `${cell.side} · ${variantOf(cell)}`;
}

/** A column for the transports, which a table has only where some of its cells have one. */
export interface TransportColumn {
  /** Its title, or nothing. */
  readonly title: readonly string[];
  /** What it says of a cell, or nothing. */
  of(cell: Pick<Cell, 'transport'>): readonly string[];
}

/** The column for a table of these cells. */
export function transportColumn(cells: readonly Pick<Cell, 'transport'>[]): TransportColumn {
  const isNeeded = cells.some(({ transport }) => transport !== undefined);
  return isNeeded
    ? { title: ['Transport'], of: ({ transport }) => [transport ?? UNKNOWN] }
    : { title: [], of: () => [] };
}

/** The name a cell has where no column tells its flavor: `sync column slices`, `napi · executeQuery`. */
export function nameOf(cell: Cell): string {
  if (cell.side !== 'rust') return sideAndVariantOf(cell);
  return cell.flavor === undefined ? variantOf(cell) : `${cell.flavor} ${variantOf(cell)}`;
}

/** `napi · executeQuery — 32.5 M/s / 745 MB/s`, the second rate where it is known. */
export function nameAndRatesOf(record: CompletedRecord): string {
  const { rowsPerSecond, mebibytesPerSecond } = record.summary;
  const size = mebibytesPerSecond === undefined ? '' : ` / ${formatMebibytes(mebibytesPerSecond)} MB/s`;
  return `${nameOf(record)} — ${formatShortRate(rowsPerSecond)}${size}`;
}
