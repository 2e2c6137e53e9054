import type { CompletedRecord, SimulatedNetwork } from '../../dist/records/record.js';
import type { MarkedTable } from '../../dist/report/head-to-head.js';

/** The measurements at one delay. */
export interface DelayedRecords {
  /** The requested delay each way, in microseconds. */
  readonly delayUs: number;
  /** The network as measured; absent if nothing was delayed. */
  readonly network?: SimulatedNetwork;
  readonly records: readonly CompletedRecord[];
}

export function crossoverTable(runs: readonly DelayedRecords[]): MarkedTable;
export function crossoverFindings(runs: readonly DelayedRecords[]): string[];
