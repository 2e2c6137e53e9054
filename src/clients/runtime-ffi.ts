/** The interface to foreign functions that the runtime itself has: `node:ffi`, `bun:ffi` or `Deno.dlopen`. */
import { crossingFile } from '../binaries.js';
import { BoundaryError, UNSUPPORTED } from '../errors.js';
import type { ForeignFunctions } from './foreign-functions.js';
import { loadPackage, whyUnusable } from './optional-package.js';

export const RUNTIME_FFI = 'runtime-ffi';

/** The functions as they cross: a length is a number or a `bigint`, and a text a string or its bytes with a zero behind them. */
interface RawFunctions<Length, Text> {
  boundary_bench_nothing(): void;
  boundary_bench_add(left: number, right: number): number;
  boundary_bench_increment(value: bigint): bigint;
  boundary_bench_read_text(text: Text): number;
  boundary_bench_read_bytes(bytes: Uint8Array, length: Length): number;
  boundary_bench_sum(values: Float64Array, length: Length): number;
}

/** The types of a function's parameters and result, by the names that all runtimes share. */
type Signatures = Readonly<Record<keyof RawFunctions<never, never>, readonly [readonly string[], string]>>;

const signatures = (text: string, memory: string): Signatures => ({
  boundary_bench_nothing: [[], 'void'],
  boundary_bench_add: [['f64', 'f64'], 'f64'],
  boundary_bench_increment: [['i64'], 'i64'],
  boundary_bench_read_text: [[text], 'u32'],
  boundary_bench_read_bytes: [[memory, 'u64'], 'u32'],
  boundary_bench_sum: [[memory, 'u64'], 'f64'],
});

function definitions<Definition>(
  types: Signatures,
  define: (parameters: readonly string[], result: string) => Definition,
): Record<string, Definition> {
  return Object.fromEntries(
    Object.entries(types).map(([name, [parameters, result]]) => [name, define(parameters, result)]),
  );
}

/** Loads the addon as a library. Throws `BB_UNSUPPORTED` in a runtime without such an interface. */
export function runtimeFunctions(): ForeignFunctions {
  const { Bun: bun, Deno: deno } = globalThis as { readonly Bun?: object; readonly Deno?: DenoFfi };
  if (deno !== undefined) return byDeno(deno);
  return bun === undefined ? byNode() : byBun();
}

/** https://nodejs.org/api/ffi.html. A `uint64` is a `bigint`. */
interface NodeFfi {
  dlopen(path: string, functions: object): { readonly functions: RawFunctions<bigint, string> };
}

const NODE_FFI = 'node:ffi';

function byNode(): ForeignFunctions {
  const problem = whyUnusable(NODE_FFI);
  if (problem !== undefined) throw new BoundaryError(UNSUPPORTED, problem);
  const types = definitions(signatures('string', 'buffer'), (parameters, result) => ({
    arguments: parameters,
    return: result,
  }));
  const { functions } = loadPackage<NodeFfi>(NODE_FFI).dlopen(crossingFile(), types);
  const { boundary_bench_read_bytes: readBytes, boundary_bench_sum: sum } = functions;
  return {
    ...simple(functions),
    readText: functions.boundary_bench_read_text,
    readBytes: (bytes) => readBytes(bytes, BigInt(bytes.length)),
    sumTyped: (values) => sum(values, BigInt(values.length)),
  };
}

/** https://docs.deno.com/runtime/fundamentals/ffi. */
interface DenoFfi {
  dlopen(path: string, symbols: object): { readonly symbols: RawFunctions<number, Uint8Array> };
}

function byDeno(deno: DenoFfi): ForeignFunctions {
  const types = definitions(signatures('buffer', 'buffer'), (parameters, result) => ({ parameters, result }));
  return withTexts(deno.dlopen(crossingFile(), types).symbols);
}

/** https://bun.sh/docs/api/ffi. */
interface BunFfi {
  dlopen(path: string, symbols: object): { readonly symbols: RawFunctions<number, Uint8Array> };
}

function byBun(): ForeignFunctions {
  const types = definitions(signatures('ptr', 'ptr'), (args, returns) => ({ args, returns }));
  return withTexts(loadPackage<BunFfi>('bun:ffi').dlopen(crossingFile(), types).symbols);
}

function simple(functions: RawFunctions<never, never>): Pick<ForeignFunctions, 'nothing' | 'add' | 'increment'> {
  return {
    nothing: functions.boundary_bench_nothing,
    add: functions.boundary_bench_add,
    increment: functions.boundary_bench_increment,
  };
}

/** The bytes for which there is memory of a text at first. */
const TEXT_BYTES = 16 * 1024;
/** The most bytes of a character of JavaScript's in UTF-8. */
const BYTES_OF_CHARACTER = 3;

/** The functions of a runtime that passes no strings: the caller writes a text into memory, with a zero behind it. */
function withTexts(functions: RawFunctions<number, Uint8Array>): ForeignFunctions {
  const encoder = new TextEncoder();
  let memory = new Uint8Array(TEXT_BYTES);
  const {
    boundary_bench_read_text: readText,
    boundary_bench_read_bytes: readBytes,
    boundary_bench_sum: sum,
  } = functions;
  return {
    ...simple(functions),
    readText(text) {
      const most = text.length * BYTES_OF_CHARACTER + 1;
      if (memory.length < most) memory = new Uint8Array(most);
      memory[encoder.encodeInto(text, memory).written] = 0;
      return readText(memory);
    },
    readBytes: (bytes) => readBytes(bytes, bytes.length),
    sumTyped: (values) => sum(values, values.length),
  };
}
