/** What typed arrays really are, whatever their own properties or a changed prototype say. */

const typedArrayPrototype: object = Object.getPrototypeOf(Uint8Array.prototype);
const byteLengthGetter = originalGetter('byteLength');
const byteOffsetGetter = originalGetter('byteOffset');
const bufferGetter = originalGetter('buffer');

/** Bytes of a typed array; 0 when its memory is detached. */
export function byteLengthOf(array: NodeJS.TypedArray): number {
  return byteLengthGetter.call(array) as number;
}

/** Whether the memory of a typed array was transferred away. */
export function isDetached(array: NodeJS.TypedArray): boolean {
  try {
    void new Uint8Array(bufferGetter.call(array) as ArrayBuffer, 0, 0);
    return false;
  } catch {
    return true;
  }
}

/**
 * The memory of a typed array as bytes. Memory shared between threads is copied, so that what is checked is what
 * crosses. Throws a `TypeError` when it is detached.
 */
export function bytesOf(array: NodeJS.TypedArray): Uint8Array {
  const buffer = bufferGetter.call(array) as ArrayBufferLike;
  const bytes = new Uint8Array(buffer, byteOffsetGetter.call(array) as number, byteLengthOf(array));
  return buffer instanceof ArrayBuffer ? bytes : new Uint8Array(bytes);
}

function originalGetter(name: string): (this: unknown) => unknown {
  return Object.getOwnPropertyDescriptor(typedArrayPrototype, name)!.get!;
}
