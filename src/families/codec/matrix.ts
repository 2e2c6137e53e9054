import type { CallMatrix } from '../in-process.js';
import { familyMatrix } from '../matrix.js';

/** A statement that is parsed, with what is read of its tree. */
export interface ParsedStatement {
  readonly sql: string;
  readonly kind: 'select' | 'create' | 'insert' | 'update' | 'delete';
  /** The first table that it names. */
  readonly table: string;
  /** The number of its items, columns or assignments. */
  readonly parts: number;
}

/** The family `codec` of `bench/matrix.json`. */
export interface CodecMatrix extends CallMatrix {
  /** The rows that are filtered, over and over. */
  readonly filterRows: number;
  readonly statements: Readonly<Record<string, ParsedStatement>>;
}

export const CODEC_MATRIX = familyMatrix<CodecMatrix>('codec');
