/** The functions that the addon exports by the calling convention of C. */
export interface ForeignFunctions {
  nothing(): void;
  add(left: number, right: number): number;
  increment(value: bigint): bigint;
  readText(text: string): number;
  readBytes(bytes: Uint8Array): number;
  sumTyped(values: Float64Array): number;
}
