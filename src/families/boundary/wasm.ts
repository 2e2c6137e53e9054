/** The functions in WebAssembly: the same module in every runtime, written by hand, as no compiler for it is among the tools. */
import { type BoundaryFunctions, NUMBERS, TEXTS, allBytes, plainFunctions, textsOf } from './functions.js';

/** The part of the runtime's interface that is used. The types of Node leave it out. */
declare const WebAssembly: {
  instantiate(module: Uint8Array<ArrayBuffer>): Promise<{ readonly instance: { readonly exports: unknown } }>;
};

interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer };
  nothing(): void;
  calls(): number;
  add(left: number, right: number): number;
  increment(value: bigint): bigint;
  lastCode(at: number, length: number): number;
  ends(at: number, length: number): number;
  sum(at: number, length: number): number;
}

const I32 = 0x7f;
const I64 = 0x7e;
const F64 = 0x7c;
const NO_RESULT = 0x40;

const FUNCTION = 0x60;
const END = 0x0b;

/** Instructions, by their names in the text format. */
const GET = 0x20;
const SET = 0x21;
const GLOBAL_GET = 0x23;
const GLOBAL_SET = 0x24;
const F64_LOAD = [0x2b, 3, 0];
const I32_LOAD8_U = [0x2d, 0, 0];
const I32_CONST = 0x41;
const I64_CONST = 0x42;
const F64_CONST = 0x44;
const ONE_F64 = [...new Uint8Array(Float64Array.of(1).buffer)];
const ZERO_F64 = [...new Uint8Array(8)];
const I32_LT_U = 0x49;
const I32_ADD = 0x6a;
const I32_SUB = 0x6b;
const I32_AND = 0x71;
const I32_OR = 0x72;
const I32_SHL = 0x74;
const I64_ADD = 0x7c;
const F64_ADD = 0xa0;
const IF = 0x04;
const ELSE = 0x05;
const BLOCK = 0x02;
const LOOP = 0x03;
const BRANCH = 0x0c;
const BRANCH_IF = 0x0d;
const I32_EQZ = 0x45;

/** The byte `distance` before the end of the bytes at the argument 0, of which the argument 1 is the number. */
const byteBeforeEnd = (distance: number): number[] => {
  const place = [GET, 0, GET, 1, I32_ADD, I32_CONST, distance, I32_SUB];
  return [...place, ...I32_LOAD8_U];
};

/** The parameters, results, locals and instructions of each function, in the order of their exports. */
const FUNCTIONS: Readonly<Record<string, readonly [number[], number[], number[], number[]]>> = {
  nothing: [[], [], [], [GLOBAL_GET, 0, F64_CONST, ...ONE_F64, F64_ADD, GLOBAL_SET, 0]],
  calls: [[], [F64], [], [GLOBAL_GET, 0]],
  add: [[F64, F64], [F64], [], [GET, 0, GET, 1, F64_ADD]],
  increment: [[I64], [I64], [], [GET, 0, I64_CONST, 1, I64_ADD]],
  // The last character has one byte, or two: 110xxxxx 10xxxxxx.
  lastCode: [
    [I32, I32],
    [I32],
    [],
    [
      [...byteBeforeEnd(1), I32_CONST, 0x80, 0x01, I32_LT_U, IF, I32],
      [...byteBeforeEnd(1), ELSE],
      [...byteBeforeEnd(2), I32_CONST, 0x1f, I32_AND, I32_CONST, 6, I32_SHL],
      [...byteBeforeEnd(1), I32_CONST, 0x3f, I32_AND, I32_OR, END],
    ].flat(),
  ],
  ends: [[I32, I32], [I32], [], [GET, 0, ...I32_LOAD8_U, ...byteBeforeEnd(1), I32_ADD]],
  sum: [
    [I32, I32],
    [F64],
    [F64],
    [
      [BLOCK, NO_RESULT, LOOP, NO_RESULT, GET, 1, I32_EQZ, BRANCH_IF, 1],
      [GET, 2, GET, 0, ...F64_LOAD, F64_ADD, SET, 2],
      [GET, 0, I32_CONST, 8, I32_ADD, SET, 0, GET, 1, I32_CONST, 1, I32_SUB, SET, 1, BRANCH, 0, END, END],
      [GET, 2],
    ].flat(),
  ],
};

/** An unsigned integer in LEB128. */
function integer(value: number): number[] {
  const low = value & 0x7f;
  return value < 0x80 ? [low] : [low | 0x80, ...integer(value >>> 7)];
}

function vector(items: readonly (readonly number[])[]): number[] {
  return [...integer(items.length), ...items.flat()];
}

function section(id: number, content: readonly number[]): number[] {
  return [id, ...integer(content.length), ...content];
}

function nameBytes(name: string): number[] {
  return [...integer(name.length), ...Buffer.from(name, 'latin1')];
}

/** The name of the format, and its version. */
const MAGIC = [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0];

/** The module, in the binary format of WebAssembly 1.0, https://www.w3.org/TR/wasm-core-1/#binary-format. */
function moduleBytes(pages: number): Uint8Array<ArrayBuffer> {
  const functions = Object.entries(FUNCTIONS);
  const simple = (types: readonly number[]): number[] => vector(types.map((type) => [type]));
  const types = functions.map(([, [parameters, results]]) => [FUNCTION, ...simple(parameters), ...simple(results)]);
  const indices = functions.map((_, index) => integer(index));
  const exported = functions.map(([name], index) => [...nameBytes(name), 0, ...integer(index)]);
  const bodies = functions.map(([, [, , locals, instructions]]) => {
    const body = [...vector(locals.map((type) => [1, type])), ...instructions, END];
    return [...integer(body.length), ...body];
  });
  return Uint8Array.from([
    ...MAGIC,
    ...section(1, vector(types)),
    ...section(3, vector(indices)),
    ...section(5, vector([[0, ...integer(pages)]])),
    ...section(6, vector([[F64, 1, F64_CONST, ...ZERO_F64, END]])),
    ...section(7, vector([...exported, [...nameBytes('memory'), 2, 0]])),
    ...section(10, vector(bodies)),
  ]);
}

const PAGE_BYTES = 1 << 16;

/** The offset in the module's memory of the values that cross in. Values that cross out lie behind them. */
const IN = 0;

/** The functions of an instance. Functions that it lacks are JavaScript's, and no lane of the matrix has them. */
export async function wasmFunctions(): Promise<BoundaryFunctions> {
  const source = allBytes();
  const pages = Math.ceil(source.length / PAGE_BYTES);
  const { instance } = await WebAssembly.instantiate(moduleBytes(2 * pages));
  const { memory, lastCode, ends, sum, ...functions } = instance.exports as Exports;
  const bytes = new Uint8Array(memory.buffer);
  const numbers = new Float64Array(memory.buffer, IN, NUMBERS.length);
  const out = pages * PAGE_BYTES;
  const encoder = new TextEncoder();
  const decoder = new TextDecoder();
  const textOut = (text: string): (() => string) => {
    // Each text is written by itself: a process measures one of them.
    let length = 0;
    return () => {
      if (length === 0) length = encoder.encodeInto(text, bytes.subarray(out)).written;
      return decoder.decode(bytes.subarray(out, out + length));
    };
  };
  let text = '';
  let made: (() => string) | undefined;
  let isFilled = false;
  const bytesOut = (size: number): Uint8Array => {
    if (!isFilled) bytes.set(source, out);
    isFilled = true;
    return bytes.subarray(out, out + size);
  };
  return {
    ...plainFunctions(),
    ...functions,
    readText: (text) => lastCode(IN, encoder.encodeInto(text, bytes).written),
    shortText: textOut(TEXTS.short[0]!),
    longText: textOut(TEXTS.long[0]!),
    shortWideText: textOut(TEXTS.short_wide[0]!),
    longWideText: textOut(TEXTS.long_wide[0]!),
    makeText(characters) {
      if (text.length !== characters) [text] = textsOf('a', characters) as [string];
      made ??= textOut(text);
      return made();
    },
    copyBytes(from) {
      bytes.set(from, IN);
      return ends(IN, from.length);
    },
    copiedBytes: (size) => bytesOut(size).slice(),
    externalBytes: bytesOut,
    fillBytes(into) {
      into.set(bytesOut(into.length));
      return into.length;
    },
    sumTyped(values) {
      numbers.set(values);
      return sum(IN, values.length);
    },
  };
}
