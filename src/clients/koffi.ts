/** `koffi`, the fastest interface to foreign functions for Node: it calls the C functions that the addon exports. */
import { crossingFile } from '../binaries.js';
import type { ForeignFunctions } from './foreign-functions.js';
import { loadPackage } from './optional-package.js';

export const KOFFI = 'koffi';

type Foreign = (...values: never[]) => unknown;

interface Koffi {
  load(path: string): { func(prototype: string): Foreign };
}

/** Loads the addon as a library. */
export function koffiFunctions(): ForeignFunctions {
  const library = loadPackage<Koffi>(KOFFI).load(crossingFile());
  const of = <Call extends (...values: never[]) => unknown>(prototype: string): Call => library.func(prototype) as Call;
  const increment = of<(value: bigint) => number | bigint>('int64_t boundary_bench_increment(int64_t value)');
  const readBytes = of<(bytes: Uint8Array, length: number) => number>(
    'uint32_t boundary_bench_read_bytes(const uint8_t *bytes, size_t length)',
  );
  const sum = of<(values: Float64Array, length: number) => number>(
    'double boundary_bench_sum(const double *values, size_t length)',
  );
  return {
    nothing: of('void boundary_bench_nothing()'),
    add: of('double boundary_bench_add(double left, double right)'),
    // It returns integers of up to 53 bits as numbers.
    increment: (value) => BigInt(increment(value)),
    readText: of('uint32_t boundary_bench_read_text(const char *text)'),
    readBytes: (bytes) => readBytes(bytes, bytes.length),
    sumTyped: (values) => sum(values, values.length),
  };
}
