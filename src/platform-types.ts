/**
 * Types of Node.js and of the web in the declarations of this package. A program that does not have them gets what stands in for
 * them here, so that it compiles without `@types/node`, and a program that has them gets them.
 */

/** `Buffer`, else a `Uint8Array`. */
export type NodeBuffer = typeof globalThis extends { Buffer: { alloc(size: number): infer Known extends Uint8Array } }
  ? Known
  : Uint8Array;

/** `AbortSignal`, else an object with that part of it which work needs. */
export type WebAbortSignal = typeof globalThis extends { AbortSignal: { prototype: infer Known } }
  ? Known
  : AbortSignalPart;

interface AbortSignalPart {
  readonly aborted: boolean;
  readonly reason: unknown;
  throwIfAborted(): void;
  addEventListener(type: 'abort', listener: () => void, options?: { readonly once?: boolean }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}
