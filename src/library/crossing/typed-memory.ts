/** The real properties of typed arrays, regardless of their own properties and of a changed prototype. */
import { types } from 'node:util';

import { invalidArgument } from '../../errors.js';

const typedArrayPrototype: { at(this: NodeJS.TypedArray, index: number): unknown } = Object.getPrototypeOf(
  Uint8Array.prototype,
);
const { at } = typedArrayPrototype;
const lengthGetter = originalGetter('length');
const byteLengthGetter = originalGetter('byteLength');
const byteOffsetGetter = originalGetter('byteOffset');
const bufferGetter = originalGetter('buffer');

/** The number of elements of a typed array; 0 if its memory is gone. */
export function lengthOf(array: NodeJS.TypedArray): number {
  return lengthGetter.call(array) as number;
}

/** The number of bytes of a typed array; 0 if its memory is gone. */
export function byteLengthOf(array: NodeJS.TypedArray): number {
  return byteLengthGetter.call(array) as number;
}

/** Whether the memory of a typed array is gone: transferred, or resized so that the array lies outside of it. */
export function isGone(array: NodeJS.TypedArray): boolean {
  try {
    // `at` reads nothing if the array is empty, and throws if it has no memory.
    at.call(array, 0);
    return false;
  } catch {
    return true;
  }
}

/** Throws `BB_INVALID_ARGUMENT` for a typed array whose memory is gone, which native code would take for an empty one. */
export function checkMemory(...arrays: readonly unknown[]): void {
  for (const array of arrays) {
    if (!types.isTypedArray(array) || byteLengthOf(array) > 0 || !isGone(array)) continue;
    throw invalidArgument(`the memory of the ${Object.prototype.toString.call(array).slice(8, -1)} is detached`);
  }
}

/**
 * The memory of a typed array as bytes. Memory shared between threads is copied, so that the bytes checked are the bytes that
 * cross. Throws a `TypeError` if the memory is gone.
 */
export function bytesOf(array: NodeJS.TypedArray): Uint8Array {
  const buffer = bufferGetter.call(array) as ArrayBufferLike;
  const length = byteLengthOf(array);
  if (length === 0) at.call(array, 0);
  const bytes = new Uint8Array(buffer, byteOffsetGetter.call(array) as number, length);
  return buffer instanceof ArrayBuffer ? bytes : new Uint8Array(bytes);
}

function originalGetter(name: string): (this: unknown) => unknown {
  return Object.getOwnPropertyDescriptor(typedArrayPrototype, name)!.get!;
}
