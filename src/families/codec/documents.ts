/**
 * The inputs of formats, in turn, and what is in them. The addon has the documents that Rust makes, so that all sides read the same bytes.
 */
import { crossing } from '../../crossing-addon.js';
import type { StreamColumns } from '../../clients/stream-columns.js';
import { type BoundaryRecord, RECORDS } from '../boundary/functions.js';

const RECORDS_OF_DOCUMENT = 10;
const ROWS = 1000;

/** The records of a document. The records of each turn have ids of their own. */
export function recordsOf(turn: number): BoundaryRecord[] {
  const first = 1 + turn * RECORDS_OF_DOCUMENT;
  return Array.from({ length: RECORDS_OF_DOCUMENT }, (_, place) => ({ ...RECORDS[0]!, id: first + place }));
}

export function jsonOf(turn: number): string {
  return crossing.codec.jsonDocument(turn);
}

export function messagePackOf(turn: number): Uint8Array {
  return crossing.codec.messagePackDocument(turn);
}

export function streamOf(turn: number): Uint8Array {
  return crossing.codec.arrowDocument(turn);
}

/** The columns of the stream of a turn. */
export function columnsOf(turn: number): StreamColumns {
  const ids = Int32Array.from({ length: ROWS }, (_, row) => row + turn);
  const names = Array.from(ids, (id) => `reading_${id}`);
  const offsets = new Int32Array(ROWS + 1);
  for (const [row, name] of names.entries()) offsets[row + 1] = offsets[row]! + name.length;
  return { ids, scores: Float64Array.from(ids, (id) => id / 2), offsets, texts: bytesOfText(names.join('')) };
}

/** The bytes of a text, in memory of their own. */
function bytesOfText(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
