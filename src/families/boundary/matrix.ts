import type { CallMatrix } from '../in-process.js';
import { familyMatrix } from '../matrix.js';

/** The family `boundary` of `bench/matrix.json`. */
export interface BoundaryMatrix extends CallMatrix {
  readonly shortCharacters: number;
  readonly longCharacters: number;
  readonly mostBytes: number;
  readonly arrayLength: number;
}

export const BOUNDARY_MATRIX = familyMatrix<BoundaryMatrix>('boundary');
