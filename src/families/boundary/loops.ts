/** The loops over the calls of a sample, by workload and lane. Each returns the sum of the results, which `resultOf` foretells. */
import {
  ADDENDS,
  type BoundaryFunctions,
  NUMBERS,
  OPERANDS,
  RECORDS,
  RecordFrames,
  TEXTS,
  bytesOf,
  endsOf,
  lastCode,
  sumOfRecord,
  textsOf,
} from './functions.js';
import { type Loop, inTurn, sumOfTurns } from '../in-process.js';
import { rowsOf } from './matrix.js';
import { type RowFunctions, sumOfRows } from './rows.js';

/** A loop over functions that return promises. */
export type AsyncLoop = (calls: number) => Promise<number>;

type TextKind = keyof typeof TEXTS;

/** The function of each workload that returns a text. */
const TEXT_MAKERS = {
  short: 'shortText',
  long: 'longText',
  short_wide: 'shortWideText',
  long_wide: 'longWideText',
} as const satisfies Record<TextKind, keyof BoundaryFunctions>;

/** The loop of a workload by a lane. The function is looked up once, and each process measures one loop. */
export function loopOf(workload: string, lane: string, functions: BoundaryFunctions): Loop {
  const [kind, what] = workload.split('.') as [string, string];
  switch (kind) {
    case 'nothing':
      return nothingLoop(functions);
    case 'numbers': {
      const { add } = functions;
      return repeated((call) => add(operandOf(call), ADDENDS[0]!));
    }
    case 'bigint':
      return bigintLoop(functions);
    case 'text_in': {
      const { readText } = functions;
      return inTurn(textsNamed(what), readText);
    }
    case 'text_out': {
      const { makeText } = functions;
      const characters = Number(what);
      if (characters > 0) return repeated(() => lastCode(makeText(characters)));
      const make = functions[TEXT_MAKERS[what as TextKind]];
      return repeated(() => lastCode(make()));
    }
    case 'bytes_in':
      return inTurn(bytesOf(Number(what)), lane === 'view' ? functions.readBytes : functions.copyBytes);
    case 'bytes_out':
      return bytesOutLoop(Number(what), lane, functions);
    case 'record_in':
      return recordInLoop(lane, functions);
    case 'record_out':
      return recordOutLoop(lane, functions);
    case 'array_in': {
      const { sumArray, sumTyped } = functions;
      const typed = Float64Array.from(NUMBERS);
      return lane === 'typed' ? repeated(() => sumTyped(typed)) : repeated(() => sumArray(NUMBERS));
    }
    case 'callback': {
      const { callBack } = functions;
      const next = (value: number): number => value + 1;
      return repeated((call) => callBack(next, operandOf(call)));
    }
    case 'error':
      return errorLoop(functions);
    case 'method': {
      const { addTo, makeCounter } = functions;
      return (calls) => {
        const counter = makeCounter();
        let sum = 0;
        for (let call = 0; call < calls; call += 1) sum = addTo(counter, operandOf(call));
        return sum;
      };
    }
    case 'wrap': {
      const { addTo, makeCounter } = functions;
      // The last object is kept, so that the compiler makes each.
      let last: object;
      return repeated((call) => {
        last = makeCounter();
        return addTo(last, operandOf(call));
      });
    }
    default:
      throw new Error(`the family boundary has no workload ${workload}`);
  }
}

/** The texts that cross in by a workload, in turn, by its word after the dot. */
function textsNamed(what: string): readonly string[] {
  const characters = Number(what);
  return characters > 0 ? textsOf('a', characters) : TEXTS[what as TextKind];
}

/** The loop of a workload that passes rows. */
export function rowLoopOf(workload: string, { readRows, makeRows }: RowFunctions): Loop {
  return repeated(workload.startsWith('rows_in.') ? readRows : makeRows);
}

/** The loop of calls that return promises, with `inFlight` calls in flight at once. */
export function asyncLoopOf(add: (left: number, right: number) => Promise<number>, inFlight: number): AsyncLoop {
  return promisesOf((call) => add(operandOf(call), ADDENDS[0]!), inFlight);
}

/** The same of any calls, which are numbered from 0. */
export function promisesOf(call: (number: number) => Promise<number>, inFlight: number): AsyncLoop {
  return async (calls) => {
    let next = 0;
    const caller = async (): Promise<number> => {
      let sum = 0;
      while (next < calls) {
        next += 1;
        sum += await call(next - 1);
      }
      return sum;
    };
    const sums = await Promise.all(Array.from({ length: inFlight }, caller));
    return sums.reduce((all, sum) => all + sum, 0);
  };
}

/** The sum of the results of `calls` calls. */
export function resultOf(workload: string, calls: number): number {
  const [kind, what] = workload.split('.') as [string, string];
  switch (kind) {
    case 'numbers':
      return sumOfTurns(
        Array.from(OPERANDS, (number) => number + ADDENDS[0]!),
        calls,
      );
    case 'callback':
      return sumOfTurns(
        Array.from(OPERANDS, (number) => number + 1),
        calls,
      );
    case 'method':
    case 'wrap':
      return sumOfTurns(Array.from(OPERANDS), calls);
    case 'text_in':
      return sumOfTurns(textsNamed(what).map(lastCode), calls);
    case 'text_out':
      return lastCode(textsNamed(what)[0]!) * calls;
    case 'bytes_in':
      return sumOfTurns(bytesOf(Number(what)).map(endsOf), calls);
    case 'bytes_out':
      return endsOf(bytesOf(Number(what))[0]!) * calls;
    case 'rows_in':
    case 'rows_out': {
      const { shape, count } = rowsOf(workload);
      return sumOfRows(shape, count) * calls;
    }
    case 'record_in':
      return sumOfTurns(RECORDS.map(sumOfRecord), calls);
    case 'record_out':
      return sumOfRecord(RECORDS[0]!) * calls;
    case 'array_in':
      return (NUMBERS.length ** 2 / 2) * calls;
    case 'error':
      return 'as wanted'.length * calls;
    default:
      return calls;
  }
}

/** The number that a call passes, by the number of the call. */
function operandOf(call: number): number {
  return OPERANDS[call & (OPERANDS.length - 1)]!;
}

function repeated(call: (number: number) => number): Loop {
  return (calls) => {
    let sum = 0;
    for (let number = 0; number < calls; number += 1) sum += call(number);
    return sum;
  };
}

function nothingLoop({ nothing, calls: counted }: BoundaryFunctions): Loop {
  return (calls) => {
    const before = counted();
    for (let call = 0; call < calls; call += 1) nothing();
    return counted() - before;
  };
}

function bigintLoop({ increment }: BoundaryFunctions): Loop {
  return (calls) => {
    let value = 0n;
    for (let call = 0; call < calls; call += 1) value = increment(value);
    return Number(value);
  };
}

function bytesOutLoop(size: number, lane: string, functions: BoundaryFunctions): Loop {
  const { copiedBytes, externalBytes, fillBytes } = functions;
  if (lane === 'copy') return repeated(() => endsOf(copiedBytes(size)));
  if (lane === 'external') return repeated(() => endsOf(externalBytes(size)));
  const pool = new Uint8Array(size);
  return repeated(() => {
    fillBytes(pool);
    return endsOf(pool);
  });
}

function recordInLoop(lane: string, { readRecord, readRecordJson, readRecordFrame }: BoundaryFunctions): Loop {
  if (lane === 'call') return inTurn(RECORDS, readRecord);
  if (lane === 'json') return inTurn(RECORDS, (record) => readRecordJson(JSON.stringify(record)));
  const frames = new RecordFrames();
  return inTurn(RECORDS, (record) => {
    frames.write(record);
    return readRecordFrame(frames.frame);
  });
}

function recordOutLoop(lane: string, { makeRecord, makeRecordJson, makeRecordFrame }: BoundaryFunctions): Loop {
  if (lane === 'call') return repeated(() => sumOfRecord(makeRecord()));
  if (lane === 'json') return repeated(() => sumOfRecord(JSON.parse(makeRecordJson()) as (typeof RECORDS)[number]));
  const frames = new RecordFrames();
  return repeated(() => {
    makeRecordFrame(frames.frame);
    return frames.sum();
  });
}

function errorLoop({ fail }: BoundaryFunctions): Loop {
  return repeated(() => {
    try {
      fail();
      return Number.NaN;
    } catch (error) {
      return (error as Error).message.length;
    }
  });
}
