/** Code shared by the families whose work needs neither a database nor a server. */
import { optionalVersion, whyUnusable } from '../clients/optional-package.js';
import { whyNotBuilt } from '../clients/references.js';
import { type Cell, type Checksum, type Crossing, type Side, itemsOf } from '../records/record.js';
import { FEWEST_CALLS_FOR_HEAP, heapBytesPerCall } from './heap-bytes.js';
import { openNative } from './native-program.js';
import type { AskedBy, Family, OpenCell, PlannedCell } from './workload.js';

/** The engine of work that needs neither a database nor a server. */
export const IN_PROCESS = 'in-process';

/** A way to do the work, of `bench/matrix.json`. */
export interface CallLane {
  readonly side: Side;
  /** How the values cross. */
  readonly lane: string;
  /** The lane within Rust that it is compared with; absent in Rust. */
  readonly rustLane?: string;
  /** The client that the calls go through; absent in Rust and JavaScript as they are. */
  readonly client?: string;
  readonly variant: string;
  readonly workloads: readonly string[];
  /** How many times longer a call takes than by other lanes, roughly; absent: once. */
  readonly weight?: number;
  /** How many times longer the size of a call takes than by other lanes, roughly; absent: once. */
  readonly sizeWeight?: number;
  /** Whether the lane is measured only if its workload is named. */
  readonly runs?: 'named';
  /** How many at once: the calls in flight, of lanes that return promises, and else the operations of one call; absent: one. */
  readonly batch?: readonly number[];
}

/** A workload whose calls are counted. */
export interface CallWorkload {
  readonly description: string;
  /** The part of a call's time that does not depend on the size of what crosses, in calls of the lightest workload. */
  readonly weight: number;
  /** The part of a call's time that the size of what crosses adds, in calls of the lightest workload; absent: none. */
  readonly sizeWeight?: number;
  /** The values that cross in one call, for workloads to which the cost model is fitted or with which it is compared. */
  readonly crossing?: Omit<Crossing, 'client'>;
  /** Whether the workload is measured only if it is named. */
  readonly runs?: 'named';
}

/** The matrix of a family whose calls are counted. */
export interface CallMatrix {
  readonly description: string;
  /** The calls of a sample of the lightest workload. */
  readonly defaultRows: number;
  readonly workloads: Readonly<Record<string, CallWorkload>>;
  readonly lanes: readonly CallLane[];
}

/** The parts that each family whose calls are counted defines itself. */
interface CallFamily extends Pick<Family, 'name' | 'module'> {
  readonly matrix: CallMatrix;
  /** The packages of the clients, by their names in the matrix. Any of them may be missing. */
  readonly packages: Readonly<Record<string, string>>;
  openCell(planned: PlannedCell): Promise<OpenCell>;
}

/** A family whose calls are counted. */
export function callFamily({ name, module, matrix, packages, openCell }: CallFamily): Family {
  return {
    name,
    module,
    description: matrix.description,
    defaultRows: matrix.defaultRows,
    onlyIfNamed: true,
    plan: ({ rows }) => planCalls(name, matrix, rows, packages),
    open: async (_options, cells) => ({
      versions: async () => versionsOf(cells, packages),
      openCell,
      close: async () => {},
    }),
  };
}

/** The versions of the packages that some of the cells use. */
function versionsOf(cells: readonly PlannedCell[], packages: CallFamily['packages']): Record<string, string> {
  const isUsed = (name: string): boolean => cells.some(({ client, skip }) => client === name && skip === undefined);
  const used = Object.entries(packages).filter(([client]) => isUsed(client));
  return Object.fromEntries(used.map(([client, name]) => [client, optionalVersion(name)]));
}

/** The cell as its lane plans it: the lanes of a workload take turns. */
export function plannedBy(
  { rustLane, client }: { readonly rustLane?: string; readonly client?: string },
  cell: Cell,
): PlannedCell {
  return {
    cell,
    group: cell.workload,
    ...(rustLane === undefined ? {} : { rustLane }),
    ...(client === undefined ? {} : { client }),
    ...(client === 'process' && { usesServer: true }),
  };
}

/**
 * The cells of a family whose calls are counted. The number of calls of a workload is chosen so that its sample takes
 * about as long as a sample of the lightest workload with `rows` calls.
 */
function planCalls(
  family: string,
  { workloads, lanes }: CallMatrix,
  rows: number,
  packages: CallFamily['packages'],
): PlannedCell[] {
  return Object.entries(workloads).flatMap(([name, workload]) =>
    lanes
      .filter((lane) => lane.workloads.includes(name))
      .flatMap((lane) => {
        const calls = Math.ceil(rows / weightOf(workload, lane));
        const needed = packages[lane.client ?? ''];
        const skip = (needed === undefined ? undefined : whyUnusable(needed)) ?? whyNotBuilt(lane);
        const isNamed = workload.runs === 'named' || lane.runs === 'named';
        const crossing = workload.crossing && {
          ...workload.crossing,
          ...(lane.client === undefined ? {} : { client: lane.client }),
        };
        return (lane.batch ?? [undefined]).map((batch) => ({
          ...plannedBy(lane, { ...callCell(family, name, lane, calls, batch), ...(crossing && { crossing }) }),
          ...(isNamed && { askedBy: ['workload'] satisfies AskedBy[] }),
          ...(skip === undefined ? {} : { skip }),
        }));
      }),
  );
}

/** How many calls of the lightest workload take about as long as a call of a workload by a lane. */
function weightOf({ weight, sizeWeight = 0 }: CallWorkload, lane: CallLane): number {
  return weight * (lane.weight ?? 1) + sizeWeight * (lane.sizeWeight ?? 1);
}

function callCell(
  family: string,
  workload: string,
  { lane, side, client, variant }: CallLane,
  calls: number,
  batch: number | undefined,
): Cell {
  const place = [...(client === undefined ? [] : [client]), ...(batch === undefined ? [] : [`b${batch}`])];
  return {
    id: [family, workload, lane, side, ...place].join('/'),
    family,
    workload,
    lane,
    side,
    variant,
    engine: IN_PROCESS,
    ...(batch === undefined ? {} : { batch }),
    // Whole batches.
    calls: Math.ceil(calls / (batch ?? 1)) * (batch ?? 1),
  };
}

/**
 * A cell whose sample is one execution of a loop over its calls, or several one after the other. The loop returns the
 * sum of the calls' results, and is executed with multiples of `batch` calls.
 */
export function openLoop(
  loop: (calls: number) => number | Promise<number>,
  calls: number,
  expected: Checksum,
  { batch = 1, close = async () => {} }: { readonly batch?: number; readonly close?: () => Promise<void> } = {},
): OpenCell {
  return {
    expected,
    repeats: true,
    async sample(stopwatch, _signal, repeats = 1) {
      stopwatch.start();
      const looped = repeated(loop, calls, repeats);
      // A loop that waits for nothing must not wait for a turn of the event loop either.
      const sum = typeof looped === 'number' ? looped : await looped;
      stopwatch.stop();
      // Looking at the heap makes some calls again, which would take longer than the few of the sample.
      if (calls >= FEWEST_CALLS_FOR_HEAP) stopwatch.addHeapBytes(await heapBytesPerCall(loop, calls, batch));
      return sumOfCalls(calls, sum);
    },
    close,
  };
}

/** Executes a loop `repeats` times. Returns its first result or, if a later result differs from that, the last one that differs. */
function repeated(
  loop: (calls: number) => number | Promise<number>,
  calls: number,
  repeats: number,
): number | Promise<number> {
  const first = loop(calls);
  if (typeof first !== 'number')
    return repeatedLater(loop as (calls: number) => Promise<number>, first, calls, repeats);
  let other = first;
  for (let repeat = 1; repeat < repeats; repeat += 1) {
    const sum = loop(calls) as number;
    if (sum !== first) other = sum;
  }
  return other;
}

/** The same for a loop that returns promises. `begun` is the first of them. */
async function repeatedLater(
  loop: (calls: number) => Promise<number>,
  begun: Promise<number>,
  calls: number,
  repeats: number,
): Promise<number> {
  const first = await begun;
  let other = first;
  for (let repeat = 1; repeat < repeats; repeat += 1) {
    const sum = await loop(calls);
    if (sum !== first) other = sum;
  }
  return other;
}

/** Opens a cell of the side `rust`. */
export function openFloor({ cell, client }: PlannedCell, expected: Checksum): Promise<OpenCell> {
  const { family, workload, lane, batch = 1 } = cell;
  const spec = { family, workload, lane, client, batch, calls: itemsOf(cell) };
  return openNative({ kind: 'inProcess', spec }, expected, true);
}

/** The checksum of `calls` calls whose results have this sum. */
export function sumOfCalls(calls: number, result: number): Checksum {
  return { rows: calls, sums: { result } };
}

/** Executes this number of calls or operations, and returns the sum of their results. */
export type Loop = (calls: number) => number;

/** The number of different values of a kind that are worked on, in turn: a power of two. */
export const TURNS = 4;

/** The values that `make` makes, one for each turn. */
export function eachTurn<Value>(make: (turn: number) => Value): readonly Value[] {
  return Array.from({ length: TURNS }, (_, turn) => make(turn));
}

/** The loop of calls that read the values of the turns. */
export function inTurn<Value>(values: readonly Value[], read: (value: Value) => number): Loop {
  return (calls) => {
    let sum = 0;
    for (let call = 0; call < calls; call += 1) sum += read(values[call & (TURNS - 1)]!);
    return sum;
  };
}

/** The sum of values that come in turn. */
export function sumOfTurns(values: readonly number[], calls: number): number {
  const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, value) => sum + value, 0);
  return Math.floor(calls / values.length) * sumOf(values) + sumOf(values.slice(0, calls % values.length));
}
