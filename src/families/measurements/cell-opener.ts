import type { RowCell } from '../../records/record.js';
import type { OpenCell } from '../workload.js';

/** The place where cells run: an engine of the addon, or a JavaScript client. It is opened with the first of its cells. */
export interface CellOpener {
  /** The versions of the place's software. */
  readonly versions: Readonly<Record<string, string>>;
  /** Opens a cell, whose `rows` are the rows of its tables. `client` is the client of the cell, if it has one. */
  openCell(cell: RowCell, client?: string): Promise<OpenCell>;
  close(): Promise<void>;
}
