/** The functions of the addon: by napi-rs as everyone uses it, by Node-API called by hand, and by the calling convention of C. */
import { crossing } from '../../crossing-addon.js';
import type { ForeignFunctions } from '../../clients/foreign-functions.js';
import { type BoundaryFunctions, plainFunctions } from './functions.js';
import type { RowShape } from './matrix.js';
import { type FourRow, type NamedRow, RowColumns, type RowFunctions, type WideRow, kindOf } from './rows.js';

const { eventLoop, napiRs } = crossing;

/** The functions by napi-rs. */
export function napiRsFunctions(): BoundaryFunctions {
  const { BoundaryCounter, ...functions } = napiRs;
  return {
    ...functions,
    sumArray: (values) => napiRs.sumArray(values as number[]),
    makeCounter: () => new BoundaryCounter(),
    addTo: (counter, number) => (counter as InstanceType<typeof BoundaryCounter>).add(number),
  };
}

/** The functions by Node-API called by hand. Functions that it lacks are JavaScript's, and no lane of the matrix has them. */
export function nodeApiFunctions(): BoundaryFunctions {
  return { ...plainFunctions(), ...(crossing.boundaryByHand() as Partial<BoundaryFunctions>), calls: napiRs.calls };
}

/** The functions by C's calling convention. Functions that it lacks are JavaScript's, and no lane of the matrix has them. */
export function byC(functions: ForeignFunctions): BoundaryFunctions {
  return { ...plainFunctions(), ...functions, calls: napiRs.calls };
}

/** The next number, by a function of JavaScript that a thread of tokio's calls. */
function nextByThread(): (value: number) => Promise<number> {
  const caller = new napiRs.ThreadCaller((value) => value + 1);
  return (value) => caller.call(value);
}

/** The addition whose result is a promise, by the lane: of tokio, of libuv's pool, of the event loop's own tasks, or the next number. */
export function asyncAddition(lane: string): (left: number, right: number) => Promise<number> {
  switch (lane) {
    case 'call-async':
      return (left, right) => napiRs.addAsync(left, right);
    case 'call-blocking':
      return (left, right) => napiRs.addBlocking(left, right);
    case 'call-loop':
      return (left, right) => eventLoop.add(left, right);
    default:
      return nextByThread();
  }
}

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
