import type { Side } from '../../records/record.js';
import { familyMatrix } from '../matrix.js';
import type { RequestMatrix } from '../requests/grid.js';

/** The input of a stage: a body of lines, a body of columnar MessagePack, or columns in memory. */
export type StageInput = 'lines' | 'columnar' | 'columns';

/** One way to do a set of stages. */
export interface StageLane {
  readonly side: Side;
  readonly lane: string;
  readonly rustLane?: string;
  readonly variant: string;
  readonly workloads: readonly string[];
  /** The codec of a `js` lane. */
  readonly client?: string;
}

/** A stage: a piece of work on batches. */
export interface StageWorkload {
  readonly input: StageInput;
  /** The stage of the native suite, if it has another name. */
  readonly stage?: string;
  /** Whether an entry of the log is on disk before the stage ends. */
  readonly durable?: boolean;
  /** The most points of a sample. */
  readonly mostRows?: number;
}

/** The part of `bench/matrix.json` that defines this family. */
export interface IngestMatrix {
  readonly description: string;
  /** The default number of points of a sample. */
  readonly defaultRows: number;
  /** The points of a batch. */
  readonly batchRows: number;
  /** The number of distinct batches, which a sample uses in turn. */
  readonly inputBatches: number;
  readonly bytesPerRow: number;
  /** The time of the first point, in milliseconds. */
  readonly timestampStart: number;
  /** The divisor of a point's index that gives its value. */
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
export const matrix = familyMatrix<IngestMatrix>('ingest');
