import type { CompletedRecord } from '../../dist/records/record.js';
import type { MarkedTable } from '../../dist/report/head-to-head.js';

/** Percentiles in nanoseconds. */
interface Percentiles {
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
}

type Interval = readonly [low: number, high: number];

/** The results of a client at one offered rate. */
export interface OfferedStep {
  readonly family: string;
  readonly workload: string;
  readonly side: string;
  readonly variant: string;
  readonly connections?: number | undefined;
  /** Requests per second, as they were due and as they were answered. */
  readonly offered: number;
  readonly achieved: number;
  /** The processes that measured it. */
  readonly processes?: number | undefined;
  readonly latency: Percentiles;
  /** The 95% intervals over the processes. */
  readonly intervals?: { readonly p50?: Interval | undefined; readonly p99?: Interval | undefined } | undefined;
  /** The delays with which the client's process sent its requests. */
  readonly behind: Percentiles;
  /** The part of the generator's thread that the requests took. */
  readonly generatorCpu?: number | undefined;
  /** The cores that were busy, on average. */
  readonly clientCpu?: number | undefined;
  readonly serverCpu?: number | undefined;
}

export function stepOf(record: CompletedRecord): OfferedStep;
export function intervalOf(values: readonly number[]): Interval | undefined;
export function isBroken(step: OfferedStep): boolean;
export function isGeneratorBound(step: OfferedStep): boolean;
export function offeredLoadTable(steps: readonly OfferedStep[]): MarkedTable;
export function offeredLoadFindings(steps: readonly OfferedStep[]): string[];
