import type { Cell } from '../../records/record.js';
import type { OpenCell } from '../workload.js';

/** Where cells run: an engine of the addon, or a client in JavaScript. It is opened with the first of its cells. */
export interface Place {
  /** Versions of the software there. */
  readonly versions: Readonly<Record<string, string>>;
  /** Opens a cell; its `rows` are those of its tables. `target`: the client of the cell, where it has one. */
  openCell(cell: Cell, target?: string): Promise<OpenCell>;
  /** Drops the tables that no open cell needs. */
  unloadIdle(): Promise<void>;
  close(): Promise<void>;
}
