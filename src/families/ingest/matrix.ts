import { readFileSync } from 'node:fs';

import type { Side } from '../../records/record.js';
import type { RequestMatrix } from '../requests/grid.js';

/** What a stage gets: a body of lines, a body of columnar MessagePack, or columns in memory. */
export type StageInput = 'lines' | 'columnar' | 'columns';

/** One way to do stages. */
export interface StageLane {
  readonly side: Side;
  readonly lane: string;
  readonly rustLane?: string;
  readonly variant: string;
  readonly workloads: readonly string[];
  /** The codec of a `js` lane. */
  readonly target?: string;
}

/** A piece of work on batches. */
export interface StageWorkload {
  readonly input: StageInput;
  /** The stage of the native suite, where it has another name. */
  readonly stage?: string;
  /** Whether an entry of the log is on the disk before the stage ends. */
  readonly durable?: boolean;
  /** The points of a sample, at most. */
  readonly mostRows?: number;
}

/** The part of `bench/matrix.json` that defines this family. */
export interface IngestMatrix {
  readonly description: string;
  /** The points of a sample. */
  readonly defaultRows: number;
  /** The points of a batch. */
  readonly batchRows: number;
  /** The batches that differ; a sample takes them in turn. */
  readonly inputBatches: number;
  readonly bytesPerRow: number;
  /** In milliseconds. */
  readonly timestampStart: number;
  /** A point's value is its index divided by this. */
  readonly valueDivisor: number;
  readonly measurement: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly field: string;
  readonly workloads: Readonly<Record<string, StageWorkload>>;
  readonly lanes: readonly StageLane[];
  /** The same points, posted to a server. */
  readonly soak: RequestMatrix;
}

/** The family's definition, read from the package's `bench` folder. */
export const matrix: IngestMatrix = readMatrix();

function readMatrix(): IngestMatrix {
  const file = new URL('../../../bench/matrix.json', import.meta.url);
  const parsed = JSON.parse(readFileSync(file, 'utf8')) as { families: { ingest: IngestMatrix } };
  return parsed.families.ingest;
}
