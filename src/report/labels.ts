import type { Cell, CompletedRecord } from '../records/record.js';
import { formatMebibytes, formatShortRate } from './format.js';

/** `RowInserter.addRow`, and `RowInserter.addRow × 2` for two workers. */
export function variantOf(cell: Cell): string {
  return cell.workers !== undefined && cell.workers > 1 ? `${cell.variant} × ${cell.workers}` : cell.variant;
}

/** With the side: `napi · RowInserter.addRow`. */
export function sideAndVariantOf(cell: Cell): string {
  return `${cell.side} · ${variantOf(cell)}`;
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
