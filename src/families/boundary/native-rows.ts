/** Rows that cross by napi-rs: as objects, as JSON, and as columns in memory of JavaScript's. */
import { crossing } from '../../crossing-addon.js';
import type { RowShape } from './matrix.js';
import { type FourRow, type NamedRow, RowColumns, type RowFunctions, type WideRow, kindOf } from './rows.js';

const { napiRs } = crossing;

/** The functions by which rows cross, by the lane. */
export function nativeRows(lane: string, shape: RowShape, count: number): RowFunctions {
  switch (lane) {
    case 'json':
      return jsonRows(shape, count);
    case 'columns':
      return columnRows(shape, count);
    default:
      return objectRows(shape, count);
  }
}

/** The functions of napi-rs that take and return arrays of objects, by the numbers of a row. */
const OBJECTS: Readonly<
  Record<number, { read(rows: unknown): number; make(count: number, characters: number): unknown[] }>
> = {
  2: { read: (rows) => napiRs.sumNamedRows(rows as NamedRow[]), make: napiRs.makeNamedRows },
  4: { read: (rows) => napiRs.sumFourRows(rows as FourRow[]), make: napiRs.makeFourRows },
  8: { read: (rows) => napiRs.sumWideRows(rows as WideRow[]), make: napiRs.makeWideRows },
};

function objectRows(shape: RowShape, count: number): RowFunctions {
  const { characters, numbers } = shape;
  const { make, sum } = kindOf(shape);
  const crossing = OBJECTS[numbers]!;
  const rows = make(count, characters);
  return {
    readRows: () => crossing.read(rows),
    makeRows: () => sum(crossing.make(count, characters)),
  };
}

function jsonRows(shape: RowShape, count: number): RowFunctions {
  const { characters, numbers } = shape;
  const { make, sum } = kindOf(shape);
  const rows = make(count, characters);
  return {
    readRows: () => napiRs.sumRowsJson(JSON.stringify(rows), numbers),
    makeRows: () => sum(JSON.parse(napiRs.makeRowsJson(count, numbers, characters)) as unknown[]),
  };
}

function columnRows(shape: RowShape, count: number): RowFunctions {
  const { characters } = shape;
  const { make, write } = kindOf(shape);
  const rows = make(count, characters);
  const columns = new RowColumns(shape, count);
  const { ids, numbers, texts } = columns;
  return {
    readRows() {
      write(rows, columns);
      return napiRs.sumRowColumns(ids, numbers, texts.offsets, texts.bytes);
    },
    makeRows: () => columns.sum(napiRs.fillRowColumns(ids, numbers, texts.offsets, texts.bytes, characters)),
  };
}
