import { addon } from '../../addon.js';
import { KOFFI } from '../../clients/koffi.js';
import { optionalVersion, whyUnusable } from '../../clients/optional-package.js';
import type { Cell, Checksum } from '../../records/record.js';
import type { Family, FamilyOptions, NativeTiming, OpenCell } from '../workload.js';
import { IN_PROCESS, type PlannedInProcess, plannedBy } from '../in-process.js';
import type { Adder } from './adders.js';
import { type BoundaryFunctions, plainFunctions } from './functions.js';
import { heapBytesPerCall } from './heap-bytes.js';
import { asyncLoopOf, loopOf, resultOf } from './loops.js';
import { BOUNDARY_MATRIX, type BoundaryLane } from './matrix.js';

const FAMILY_NAME = 'boundary';

/** One crossing: what it costs by what is passed, how it is called and by what. */
export const boundaryFamily: Family = {
  name: FAMILY_NAME,
  module: import.meta.url,
  description: BOUNDARY_MATRIX.description,
  defaultRows: BOUNDARY_MATRIX.defaultRows,
  onlyIfNamed: true,
  plan: planCalls,
  open: async (_options, cells) => ({
    versions: async () => versionsOf(cells as readonly PlannedInProcess[]),
    openCell: async (planned) => openCall(planned),
    close: async () => {},
  }),
};

function planCalls({ rows }: FamilyOptions): PlannedInProcess[] {
  return Object.entries(BOUNDARY_MATRIX.workloads).flatMap(([workload, { weight }]) =>
    BOUNDARY_MATRIX.lanes
      .filter(({ workloads }) => workloads.includes(workload))
      .flatMap((lane) =>
        (lane.inFlight ?? [undefined]).map((inFlight) =>
          plannedCall(lane, workload, Math.ceil(rows / weight / (lane.weight ?? 1)), inFlight),
        ),
      ),
  );
}

function plannedCall(
  lane: BoundaryLane,
  workload: string,
  calls: number,
  inFlight: number | undefined,
): PlannedInProcess {
  const { side, client, variant } = lane;
  const place = [...(client === undefined ? [] : [client]), ...(inFlight === undefined ? [] : [`b${inFlight}`])];
  const cell: Cell = {
    id: [FAMILY_NAME, workload, lane.lane, side, ...place].join('/'),
    family: FAMILY_NAME,
    workload,
    lane: lane.lane,
    side,
    variant,
    engine: IN_PROCESS,
    ...(inFlight === undefined ? {} : { batch: inFlight }),
    rows: calls,
    calls,
  };
  return { ...plannedBy(lane, cell), ...skipOf(client) };
}

function skipOf(client: string | undefined): Pick<PlannedInProcess, 'skip'> {
  const skip = client === KOFFI ? whyUnusable(KOFFI) : undefined;
  return skip === undefined ? {} : { skip };
}

function versionsOf(cells: readonly PlannedInProcess[]): Record<string, string> {
  const usesKoffi = cells.some(({ client, skip }) => client === KOFFI && skip === undefined);
  return usesKoffi ? { [KOFFI]: optionalVersion(KOFFI) } : {};
}

async function openCall({ cell, client }: PlannedInProcess): Promise<OpenCell> {
  const { workload, side, lane, rows: calls, batch } = cell;
  const expected = checksumOf(calls, resultOf(workload, calls));
  if (side === 'rust') return openFloor(cell, expected);
  const openAdder = ADDERS[lane];
  if (openAdder === undefined) {
    const functions = await FUNCTIONS[client ?? 'javascript']!();
    return openLoop(loopOf(workload, lane, functions), calls, expected, async () => {});
  }
  const { add, close } = await openAdder(lane);
  const loop =
    batch === undefined
      ? loopOf(workload, lane, { ...plainFunctions(), add: add as BoundaryFunctions['add'] })
      : asyncLoopOf(add as (left: number, right: number) => Promise<number>, batch);
  return openLoop(loop, calls, expected, close);
}

/** The functions of each client. Each is imported only where it is measured. */
const FUNCTIONS: Readonly<Record<string, () => Promise<BoundaryFunctions> | BoundaryFunctions>> = {
  javascript: plainFunctions,
  'napi-rs': async () => (await import('./native-functions.js')).napiRsFunctions(),
  'node-api': async () => (await import('./native-functions.js')).nodeApiFunctions(),
  [KOFFI]: async () => (await import('./native-functions.js')).koffiFunctions(),
  wasm: async () => (await import('./wasm.js')).wasmFunctions(),
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

function openLoop(
  loop: (calls: number) => number | Promise<number>,
  calls: number,
  expected: Checksum,
  close: () => Promise<void>,
): OpenCell {
  return {
    expected,
    async sample(stopwatch) {
      stopwatch.start();
      const looped = loop(calls);
      // A loop that waits for nothing must not wait for a turn of the event loop either.
      const sum = typeof looped === 'number' ? looped : await looped;
      stopwatch.stop();
      stopwatch.addHeapBytes(await heapBytesPerCall(loop, calls));
      return checksumOf(calls, sum);
    },
    close,
  };
}

function openFloor({ workload, lane, rows }: Cell, expected: Checksum): OpenCell {
  return {
    expected,
    async sample(stopwatch) {
      const sample = JSON.parse(addon.runBoundaryFloor(workload, lane, rows)) as NativeTiming & { checksum: Checksum };
      const { checksum, ...timing } = sample;
      stopwatch.add(timing);
      return checksum;
    },
    close: async () => {},
  };
}

function checksumOf(calls: number, result: number): Checksum {
  return { rows: calls, sums: { result } };
}
