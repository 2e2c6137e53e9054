import { addon } from '../../addon.js';
import type { Cell, Checksum } from '../../records/record.js';
import type { Family, FamilyOptions, NativeTiming, OpenCell, PlannedCell } from '../workload.js';
import { type BoundaryFunctions, plainFunctions } from './functions.js';
import { asyncLoopOf, loopOf, resultOf } from './loops.js';
import { BOUNDARY_MATRIX, type BoundaryLane } from './matrix.js';

const FAMILY_NAME = 'boundary';

/** The engine of a call, which has no rows and no server. */
const ENGINE = 'in-process';

/** A cell of this family. */
interface PlannedCall extends PlannedCell {
  readonly client?: string;
}

/** One crossing: what it costs by what is passed, how it is called and by what. */
export const boundaryFamily: Family = {
  name: FAMILY_NAME,
  module: import.meta.url,
  description: BOUNDARY_MATRIX.description,
  defaultRows: BOUNDARY_MATRIX.defaultRows,
  onlyIfNamed: true,
  plan: planCalls,
  open: async () => ({
    versions: async () => ({}),
    openCell: async (planned) => openCall(planned),
    close: async () => {},
  }),
};

function planCalls({ rows }: FamilyOptions): PlannedCall[] {
  return Object.entries(BOUNDARY_MATRIX.workloads).flatMap(([workload, { weight }]) =>
    BOUNDARY_MATRIX.lanes
      .filter(({ workloads }) => workloads.includes(workload))
      .flatMap((lane) =>
        (lane.inFlight ?? [undefined]).map((inFlight) =>
          plannedCall(lane, workload, Math.ceil(rows / weight), inFlight),
        ),
      ),
  );
}

function plannedCall(lane: BoundaryLane, workload: string, calls: number, inFlight: number | undefined): PlannedCall {
  const { side, client, variant } = lane;
  const place = [...(client === undefined ? [] : [client]), ...(inFlight === undefined ? [] : [`b${inFlight}`])];
  const cell: Cell = {
    id: [FAMILY_NAME, workload, lane.lane, side, ...place].join('/'),
    family: FAMILY_NAME,
    workload,
    lane: lane.lane,
    side,
    variant,
    engine: ENGINE,
    ...(inFlight === undefined ? {} : { batch: inFlight }),
    rows: calls,
    calls,
  };
  return {
    cell,
    group: workload,
    ...(side === 'rust' ? {} : { rustLane: lane.lane }),
    ...(client === undefined ? {} : { client }),
  };
}

async function openCall({ cell, client }: PlannedCall): Promise<OpenCell> {
  const { workload, lane, side, rows: calls, batch } = cell;
  const expected = checksumOf(calls, resultOf(workload, calls));
  if (side === 'rust') return openFloor(cell, expected);
  if (batch !== undefined) {
    const { ASYNC_ADDITIONS } = await import('./native-functions.js');
    const add = ASYNC_ADDITIONS[lane];
    if (add === undefined) throw new Error(`the family ${FAMILY_NAME} has no promises by the lane ${lane}`);
    return openLoop(asyncLoopOf(add, batch), calls, expected);
  }
  return openLoop(loopOf(workload, lane, await functionsOf(client)), calls, expected);
}

async function functionsOf(client: string | undefined): Promise<BoundaryFunctions> {
  if (client === undefined) return plainFunctions();
  const { napiRsFunctions, nodeApiFunctions } = await import('./native-functions.js');
  return client === 'napi-rs' ? napiRsFunctions() : nodeApiFunctions();
}

function openLoop(loop: (calls: number) => number | Promise<number>, calls: number, expected: Checksum): OpenCell {
  return {
    expected,
    async sample(stopwatch) {
      stopwatch.start();
      const looped = loop(calls);
      // A loop that waits for nothing must not wait for a turn of the event loop either.
      const sum = typeof looped === 'number' ? looped : await looped;
      stopwatch.stop();
      return checksumOf(calls, sum);
    },
    close: async () => {},
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
