/**
 * `msgpackr`, in JavaScript alone (without its optional native part, which only decodes strings). It writes whole numbers as
 * integers, which HyperbyteDB does not take as values. So those are wrapped in a class that an extension writes as
 * 64-bit floats. Other values take its own, fastest path.
 */
import type { SeriesNames } from '../library/codecs/columns-codec.js';
import type { ColumnBatch, JsCodec } from './js-codec.js';
import { importPackage } from './optional-package.js';

const { addExtension, Packr, Unpackr } = await importPackage('msgpackr/pack', () => import('msgpackr/pack'));

/** A number that must be written as a 64-bit float. */
class Float64 {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }
}

addExtension({
  Class: Float64,
  // The type is required but not written: the output of `pack` has no header.
  type: 1,
  pack(this: unknown, { value }: Float64, allocateForWrite: AllocateForWrite) {
    const { target, targetView, position } = allocateForWrite(9);
    target[position] = 0xcb;
    targetView.setFloat64(position + 1, value);
  },
} as unknown as Parameters<typeof addExtension>[0]);

type AllocateForWrite = (bytes: number) => { target: Uint8Array; targetView: DataView; position: number };

/** The value in the form that msgpackr writes as a 64-bit float. */
function asFloat(value: number): number | Float64 {
  return Number.isInteger(value) ? new Float64(value) : value;
}

const packr = new Packr({ useRecords: false, variableMapSize: true });

/** Encodes a batch as rows, each with all its names: HyperbyteDB's row MessagePack. */
export function packRows(
  { measurement, tags = {}, field }: SeriesNames,
  { values, timestamps }: ColumnBatch,
): Uint8Array {
  const rows = Array.from(values, (value, index) => ({
    measurement,
    tags,
    fields: { [field]: { Float: asFloat(value) } },
    timestamp: timestamps[index]!,
  }));
  return packr.pack(rows);
}

/** Makes a function that decodes a value. Integers of 64 bits become numbers. */
export function unpacker(): (bytes: Uint8Array) => unknown {
  const unpackr = new Unpackr({ useRecords: false, int64AsType: 'number' });
  return (bytes) => unpackr.unpack(bytes) as unknown;
}

export const msgpackr: JsCodec = {
  encoder: ({ measurement, tags = {}, field }, { values, timestamps }: ColumnBatch) => {
    const batch = {
      measurement,
      tags,
      field,
      values: Array.from(values, asFloat),
      timestamps: Array.from(timestamps),
    };
    return () => packr.pack(batch);
  },
  decoder: () => unpacker() as (body: Uint8Array) => { values: number[]; timestamps: number[] },
};
