/** Frames made from staged parts, in the layout of `native/engine/src/frame.rs`: the stager and the reader test each other. */

const ALIGNMENT = 64;
const HEADER_WORDS = 2;
const COLUMN_WORDS = 5;

/** The frame of `rows` rows; `parts` holds validity, offsets and values of each column, as the raw addon takes them. */
export function encodeFrame(rows: number, parts: readonly (Uint8Array | null)[]): ArrayBuffer {
  const columns = parts.length / 3;
  const words = [rows, columns];
  const pieces: [offset: number, bytes: Uint8Array][] = [];
  let end = align((HEADER_WORDS + COLUMN_WORDS * columns) * 4);
  const place = (bytes: Uint8Array | null): number => {
    if (bytes === null) return 0;
    const offset = end;
    pieces.push([offset, bytes]);
    end = align(end + bytes.length);
    return offset;
  };
  for (let index = 0; index < parts.length; index += 3) {
    const validity = parts[index]!;
    const values = parts[index + 2]!;
    words.push(countNulls(validity, rows), place(validity), place(parts[index + 1]!), place(values), values.length);
  }
  const frame = new Uint8Array(end);
  frame.set(new Uint8Array(Uint32Array.from(words).buffer));
  for (const [offset, bytes] of pieces) frame.set(bytes, offset);
  return frame.buffer;
}

function countNulls(validity: Uint8Array | null, rows: number): number {
  if (validity === null) return 0;
  let nulls = 0;
  for (let row = 0; row < rows; row++) {
    if ((validity[row >> 3]! & (1 << (row & 7))) === 0) nulls++;
  }
  return nulls;
}

function align(length: number): number {
  return Math.ceil(length / ALIGNMENT) * ALIGNMENT;
}
