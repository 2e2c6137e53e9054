import { familyMatrix } from '../matrix.js';
import type { Side } from '../../records/record.js';

/** A way to call the functions. */
export interface BoundaryLane {
  readonly side: Side;
  /** How the values cross. */
  readonly lane: string;
  /** The lane within Rust that it is compared with; absent in Rust. */
  readonly rustLane?: string;
  /** What the calls go through; absent in Rust. */
  readonly client?: string;
  readonly variant: string;
  readonly workloads: readonly string[];
  /** How many times longer a call takes than by other lanes, roughly; absent: once. */
  readonly weight?: number;
  /** The calls in flight at once, of lanes that return promises. */
  readonly inFlight?: readonly number[];
}

/** What is passed. */
export interface BoundaryWorkload {
  readonly description: string;
  /** How many calls of `nothing` take about as long as one. */
  readonly weight: number;
}

/** The family `boundary` of `bench/matrix.json`. */
export interface BoundaryMatrix {
  readonly description: string;
  /** The calls of a sample of `nothing`. */
  readonly defaultRows: number;
  readonly shortCharacters: number;
  readonly longCharacters: number;
  readonly mostBytes: number;
  readonly arrayLength: number;
  readonly workloads: Readonly<Record<string, BoundaryWorkload>>;
  readonly lanes: readonly BoundaryLane[];
}

export const BOUNDARY_MATRIX = familyMatrix<BoundaryMatrix>('boundary');
