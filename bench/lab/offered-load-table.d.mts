import type { CompletedRecord } from '../../dist/records/record.js';
import type { MarkedTable } from '../../dist/report/head-to-head.js';

/** Percentiles in nanoseconds. */
interface Percentiles {
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
}

/** What a client did at one offered rate. */
export interface OfferedStep {
  readonly family: string;
  readonly workload: string;
  readonly side: string;
  readonly variant: string;
  readonly threads?: number | undefined;
  /** Requests a second, as they were due and as they were answered. */
  readonly offered: number;
  readonly achieved: number;
  readonly latency: Percentiles;
  /** The delays with which the client's process sent its requests. */
  readonly behind: Percentiles;
  /** The cores that were busy, on average. */
  readonly clientCpu?: number | undefined;
  readonly serverCpu?: number | undefined;
}

export function stepOf(record: CompletedRecord): OfferedStep;
export function isBroken(step: OfferedStep): boolean;
export function isGeneratorBound(step: OfferedStep): boolean;
export function offeredLoadTable(steps: readonly OfferedStep[]): MarkedTable;
export function offeredLoadFindings(steps: readonly OfferedStep[]): string[];
