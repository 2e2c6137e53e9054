import { itemsOf } from '../../records/record.js';
import { KOFFI, koffiFunctions } from '../../clients/koffi.js';
import { RUNTIME_FFI, runtimeFunctions } from '../../clients/runtime-ffi.js';
import { callFamily, openFloor, openLoop, sumOfCalls } from '../in-process.js';
import type { OpenCell, PlannedCell } from '../workload.js';
import type { Adder } from './adders.js';
import { type BoundaryFunctions, plainFunctions } from './functions.js';
import { asyncLoopOf, loopOf, promisesOf, resultOf, rowLoopOf } from './loops.js';
import { BOUNDARY_MATRIX, rowsOf } from './matrix.js';
import type { Payload, PayloadTask } from './payloads.js';

/** One crossing: what it costs by what is passed, how it is called and by what. */
export const boundaryFamily = callFamily({
  name: 'boundary',
  module: import.meta.url,
  matrix: BOUNDARY_MATRIX,
  packages: { [KOFFI]: KOFFI },
  openCell: openCall,
});

async function openCall(planned: PlannedCell): Promise<OpenCell> {
  const { cell, client } = planned;
  const { workload, side, lane, batch } = cell;
  const calls = itemsOf(cell);
  const expected = sumOfCalls(calls, resultOf(workload, calls));
  if (side === 'rust') return openFloor(planned, expected);
  const openPayload = workload.startsWith('numbers') ? undefined : PAYLOADS[lane];
  if (openPayload !== undefined) {
    const { carry, close } = await openPayload({ workload, lane });
    return openLoop(promisesOf(carry, batch ?? 1), calls, expected, { close });
  }
  if (workload.startsWith('rows_')) {
    const { shape, count } = rowsOf(workload);
    const functions =
      client === undefined
        ? (await import('./rows.js')).plainRows(shape, count)
        : (await import('./native-rows.js')).nativeRows(lane, shape, count);
    return openLoop(rowLoopOf(workload, functions), calls, expected);
  }
  const openAdder = ADDERS[lane];
  if (openAdder === undefined) {
    const functions = await FUNCTIONS[client ?? 'javascript']!();
    return openLoop(loopOf(workload, lane, functions), calls, expected);
  }
  const { add, close } = await openAdder(lane);
  const loop =
    batch === undefined
      ? loopOf(workload, lane, { ...plainFunctions(), add: add as BoundaryFunctions['add'] })
      : asyncLoopOf(add as (left: number, right: number) => Promise<number>, batch);
  return openLoop(loop, calls, expected, { close });
}

/** The functions of each client. Each is imported only if it is measured. */
const FUNCTIONS: Readonly<Record<string, () => Promise<BoundaryFunctions> | BoundaryFunctions>> = {
  javascript: plainFunctions,
  'napi-rs': async () => (await import('./native-functions.js')).napiRsFunctions(),
  'node-api': async () => (await import('./native-functions.js')).nodeApiFunctions(),
  [KOFFI]: async () => (await import('./native-functions.js')).byC(koffiFunctions()),
  [RUNTIME_FFI]: async () => (await import('./native-functions.js')).byC(runtimeFunctions()),
  wasm: async () => (await import('./wasm.js')).wasmFunctions(),
};

/** Carriers of bytes or rows to another thread or process, by the lane. */
const PAYLOADS: Readonly<Record<string, (task: PayloadTask) => Promise<Payload>>> = {
  clone: async (task) => (await import('./payloads.js')).openWorkerPayload(task),
  transfer: async (task) => (await import('./payloads.js')).openWorkerPayload(task),
  socket: async (task) => (await import('./payloads.js')).openProcessPayload(task),
};

/** The additions of the lanes on which the caller waits for another thread or process. */
const ADDERS: Readonly<Record<string, (lane: string) => Promise<Adder<number | Promise<number>>>>> = {
  'call-async': openNative,
  'call-blocking': openNative,
  'call-loop': openNative,
  'call-thread': openNative,
  message: async () => (await import('./adders.js')).openWorkerAdder(),
  'shared-memory': async () => (await import('./adders.js')).openSharedAdder(),
  socket: async () => (await import('./adders.js')).openProcessAdder(),
};

async function openNative(lane: string): Promise<Adder<Promise<number>>> {
  const { asyncAddition } = await import('./native-functions.js');
  return { add: asyncAddition(lane), close: async () => {} };
}
