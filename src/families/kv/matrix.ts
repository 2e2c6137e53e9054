import { familyMatrix } from '../matrix.js';
import type { RequestMatrix } from '../requests/grid.js';

interface KvMatrix extends RequestMatrix {
  /** The bytes of a value. */
  readonly valueBytes: number;
  /** The keys of one pipeline that loads, reads back or deletes. */
  readonly keysAtOnce: number;
}

export const KV_MATRIX = familyMatrix<KvMatrix>('kv');
