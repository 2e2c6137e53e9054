import type { MarkedTable } from '../../dist/report/head-to-head.js';
import type { RatioInterval } from '../../dist/stats/ratio-interval.js';

/** One kind of work, done by a load tool and by clients. */
export interface CeilingMeasurement {
  readonly family: string;
  readonly workload: string;
  readonly connections: number;
  readonly batch: number;
  /** The name of the load tool among the rates. */
  readonly tool: string;
  /** Operations per second of the load tool and of each client, one value per round. */
  readonly rates: Readonly<Record<string, readonly number[]>>;
}

export function overTool(measurement: CeilingMeasurement, client: string): RatioInterval;
export function ceilingTable(measurements: readonly CeilingMeasurement[]): MarkedTable;
export function ceilingFindings(measurements: readonly CeilingMeasurement[]): string[];
