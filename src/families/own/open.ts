/** The processes of a user's work: the results that are right, and the calls of each way. */
import { BoundaryError, checksumMismatch, invalidArgument, toBoundaryError } from '../../errors.js';
import { describeValue } from '../../library/crossing/describe-value.js';
import { loadedAddons } from '../../host/loaded-addons.js';
import { type Cell, itemsOf } from '../../records/record.js';
import { FEWEST_CALLS_FOR_HEAP, heapBytesPerCall } from '../heap-bytes.js';
import type { FamilyOptions, OpenCell, OpenFamily, PlannedCell, Stopwatch } from '../workload.js';
import { called, calledLater, calledWithEach, calledWithEachLater, forgetResults, isPromise } from './calls.js';
import { type Canonical, canonicalOf, differenceOf } from './equal.js';
import { READ_IN_FULL } from '../../records/checksum.js';
import { type Reader, checkRead, copyOf, isPlain, readInFull, reading, requireUnchanged } from './plain.js';
import { type Program, isProgram, startWay } from './program.js';
import type { OwnOptions, PlannedWay, PlannedWorkload, TimedWay, WayFunction } from './workload.js';

/** The sums of a way's checksum, since results are compared before. */
const RIGHT = { right: 1 };

/** Opens the workload in a process of the run. */
export async function openWork<Input>(
  work: PlannedWorkload<Input>,
  { results: given }: OwnOptions,
  cells: readonly PlannedCell[],
): Promise<OpenFamily> {
  await work.setup?.();
  // The first process of the run finds out what is right, so that no way is compiled by what another one did in its process.
  const results =
    given ??
    (await resultsOf(work, cells).catch(async (thrown: unknown) => {
      await work.teardown?.();
      throw thrown;
    }));
  return {
    // The user's addons, which the file has loaded.
    versions: loadedAddons,
    shared: async () => ({ results }) as Partial<FamilyOptions>,
    openCell: async ({ cell }) => {
      const way = work.planned.find(({ lane, side }) => lane === cell.lane && side === cell.side);
      if (way === undefined) throw invalidArgument(`the workload ${work.name} has no cell ${cell.id}`);
      const input = await inputOf(work, cell);
      const verify = way.isNoop === true ? unchecked : verifierOf(work, way, input, results[cell.workload]);
      if (isProgram(way.run)) return openProgram(work, way.run, cell, input, verify);
      if (way.timed !== undefined) return openTimed(work, way.name, way.timed, way.run, cell, input, verify);
      return openFunction(work, way, way.run, cell, input, verify);
    },
    close: async () => {
      await work.teardown?.();
    },
  };
}

async function inputOf<Input>(
  { name, input, inputs }: PlannedWorkload<Input>,
  { workload: of, size = 1 }: Pick<Cell, 'workload' | 'size'>,
): Promise<Input> {
  if (inputs === undefined) return input === undefined ? (size as Input) : input(size);
  const named = inputs[of.slice(name.length + 1)] as Input | (() => Input | Promise<Input>);
  return typeof named === 'function' ? (named as () => Input | Promise<Input>)() : named;
}

/**
 * The expected results, by the workloads of cells: the results of the first way in JavaScript, or else of the first
 * function. There are none if `check` decides. With `read`, they are the numbers that it returns.
 */
async function resultsOf<Input>(
  work: PlannedWorkload<Input>,
  cells: readonly PlannedCell[],
): Promise<Readonly<Record<string, Canonical>>> {
  const functions = work.planned.filter(({ run, isNoop }) => !isProgram(run) && isNoop !== true);
  const reference = functions.find(({ side }) => side === 'js') ?? functions[0];
  const { read, check } = work;
  if ((check !== undefined && read === undefined) || reference === undefined) return {};
  const byWorkload = new Map(cells.map(({ cell }) => [cell.workload, cell]));
  const results: Record<string, Canonical> = {};
  for (const [name, cell] of byWorkload) {
    try {
      const result = await (reference.run as WayFunction<Input>)(await inputOf(work, cell));
      requireResult(reference, result);
      results[name] = canonicalOf(read === undefined ? result : read(result));
    } catch (thrown) {
      const { code, message, hint } = toBoundaryError(thrown);
      throw new BoundaryError(code, `the way ${reference.name} of ${name}: ${message}`, { hint, cause: thrown });
    }
  }
  return results;
}

function requireResult(way: Pick<PlannedWay<never>, 'name'>, result: unknown): void {
  if (result !== undefined) return;
  throw new BoundaryError('BB_NO_RESULT', `the way ${way.name} returned nothing`, {
    hint: 'Return the result, so that it can be compared, and so that no compiler leaves the work out.',
  });
}

/** The proofs of a way. */
interface Verify {
  /** Throws if a result is not right. */
  result(result: unknown): Promise<void>;
  /** Throws if `read` returned another number than for the first way. */
  read(number: unknown): void;
}

const unchecked: Verify = { result: async () => {}, read: () => {} };

function verifierOf<Input>(
  { check, read, tolerance }: PlannedWorkload<Input>,
  way: PlannedWay<Input>,
  input: Input,
  expected: Canonical | undefined,
): Verify {
  const requireSame = (found: unknown, what?: string): void => {
    if (expected === undefined) return;
    const difference = differenceOf(canonicalOf(found), expected, tolerance, what);
    if (difference === undefined) return;
    throw checksumMismatch(`the way ${way.name}: ${difference}`, {
      hint: 'All ways must return the same, must leave the input as it is, and the input must be the same in each process: give random values a seed.',
    });
  };
  return {
    async result(result) {
      requireResult(way, result);
      if (check === undefined) {
        if (read === undefined) requireSame(result);
      } else if ((await check(result, input)) === false) {
        throw checksumMismatch(`the way ${way.name}: check returned false`);
      }
    },
    read(number) {
      checkRead(way.name, number);
      requireSame(number, 'the number that read returned');
    },
  };
}

/** Verifies results that are read outside of any clock: one for `check`, and another one for `read`, which may use it up. */
async function verifyUntimed(verify: Verify, read: Reader | undefined, resultOf: () => unknown): Promise<void> {
  await verify.result(await resultOf());
  if (read !== undefined) verify.read(read((await resultOf()) as never));
}

/** The bytes by which V8's heap grows in one call. */
async function heapOf<Input>(run: WayFunction<Input>, input: Input, repeats: number): Promise<number> {
  const loop = (calls: number): number => {
    called(run, input, calls);
    return calls;
  };
  return heapBytesPerCall(loop, repeats, 1);
}

/** The folder of this package's code. */
const OWN_FOLDER = new URL('../..', import.meta.url).pathname;

/** The error of a way that threw, with the place in the user's file: another process prints no stack. */
function thrownBy(way: string, thrown: unknown): BoundaryError {
  const { code, message, hint } = toBoundaryError(thrown);
  const stack = thrown instanceof Error ? (thrown.stack ?? '') : '';
  const lines = stack
    .split('\n')
    .filter((line) => /^\s+at /.test(line) && !line.includes(OWN_FOLDER) && !line.includes('node:'));
  const [, place] = /\(?((?:file:\/\/)?[^\s()]+:\d+:\d+)\)?$/.exec(lines[0] ?? '') ?? [];
  const at = place === undefined ? '' : ` (at ${place.replace('file://', '')})`;
  return new BoundaryError(code, `the way ${way} threw: ${message}${at}`, { hint, cause: thrown });
}

/** The result of the user's code. Throws its error with the name of the way. */
async function guarded<T>(way: string, work: () => T | PromiseLike<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    throw thrownBy(way, thrown);
  }
}

/** The most inputs that are made at once for calls that each get one of their own. */
const FRESH_AT_ONCE = 1024;

async function openFunction<Input>(
  work: PlannedWorkload<Input>,
  { name, isNoop = false }: PlannedWay<Input>,
  run: WayFunction<Input>,
  cell: Cell,
  input: Input,
  verify: Verify,
): Promise<OpenCell> {
  const { read, check, fresh = false } = work;
  const copy = fresh ? undefined : copyOf(input);
  const nextInput = async (): Promise<Input> => (fresh ? inputOf(work, cell) : input);
  const firstInput = await nextInput();
  let isLater = false;
  const first = await guarded(name, () => {
    const result = run(firstInput);
    isLater = isPromise(result);
    return result;
  });
  if (!fresh) requireUnchanged(name, input, copy);
  const isReadInFull = !isNoop && read === undefined && !isPlain(first);
  const reader: Reader | undefined = isNoop ? undefined : isReadInFull ? readInFull : read;
  const call = reader === undefined ? run : reading(run, reader, isLater);
  // Its second call, since a result may be read only once.
  if (isReadInFull) {
    const second = await nextInput();
    await guarded(name, () => call(second));
  }
  await verify.result(first);
  const onceFresh = async (stopwatch: Stopwatch, repeats: number): Promise<unknown> => {
    let result: unknown;
    for (let left = repeats; left > 0; left -= FRESH_AT_ONCE) {
      const inputs: Input[] = [];
      while (inputs.length < Math.min(left, FRESH_AT_ONCE)) inputs.push(await nextInput());
      stopwatch.start();
      result = isLater ? await calledWithEachLater(call, inputs) : calledWithEach(call, inputs);
      stopwatch.stop();
    }
    return result;
  };
  const once = async (stopwatch: Stopwatch, repeats: number): Promise<unknown> => {
    let result: unknown;
    stopwatch.start();
    // A way that waits for nothing must not wait for a turn of the event loop either.
    if (isLater) result = await calledLater(call, input, repeats);
    else result = called(call, input, repeats);
    stopwatch.stop();
    if (!isLater && repeats >= FEWEST_CALLS_FOR_HEAP) stopwatch.addHeapBytes(await heapOf(call, input, repeats));
    return result;
  };
  const expected = { rows: itemsOf(cell), sums: isReadInFull ? { ...RIGHT, [READ_IN_FULL]: 1 } : RIGHT };
  return {
    expected,
    repeats: true,
    async sample(stopwatch, _signal, repeats = 1) {
      const result = await guarded(name, () => (fresh ? onceFresh : once)(stopwatch, repeats));
      if (reader === undefined) await verify.result(result);
      else {
        if (!isReadInFull) verify.read(result);
        if (isReadInFull || check !== undefined) {
          const last = await nextInput();
          await verify.result(await guarded(name, () => run(last)));
        }
      }
      return expected;
    },
    close: async () => {
      forgetResults();
    },
  };
}

/** How many times longer than the call the seconds of a way that times itself may be: two clocks differ a little. */
const CLOCK_SLACK = 1.05;

async function openTimed<Input>(
  { read }: PlannedWorkload<Input>,
  name: string,
  timed: TimedWay<Input>['timed'],
  run: WayFunction<Input>,
  cell: Cell,
  input: Input,
  verify: Verify,
): Promise<OpenCell> {
  const items = itemsOf(cell);
  let copy = copyOf(input);
  const verifyOnce = (): Promise<void> => verifyUntimed(verify, read, () => guarded(name, () => run(input)));
  await verifyOnce();
  requireUnchanged(name, input, copy);
  return {
    expected: { rows: items, sums: RIGHT },
    repeats: true,
    async sample(stopwatch, _signal, repeats = 1) {
      const startedAt = performance.now();
      const seconds = await guarded(name, () => timed(input, repeats));
      const most = (CLOCK_SLACK * (performance.now() - startedAt)) / 1000;
      if (!(typeof seconds === 'number' && seconds >= 0 && seconds <= most)) {
        const found = typeof seconds === 'number' ? `${seconds} seconds` : describeValue(seconds);
        throw invalidArgument(`timed of the way ${name} returned ${found} for a call of ${most} seconds`, {
          hint: 'It returns the seconds that all repeats took together, which are no more than its call took.',
        });
      }
      requireUnchanged(name, input, copy);
      copy = undefined;
      stopwatch.add({ seconds });
      return { rows: items, sums: RIGHT };
    },
    verify: verifyOnce,
    close: async () => {},
  };
}

async function openProgram<Input>(
  { name, read }: PlannedWorkload<Input>,
  way: Program,
  cell: Cell,
  input: Input,
  verify: Verify,
): Promise<OpenCell> {
  const items = itemsOf(cell);
  const running = await startWay(way, name, cell.size, input);
  const verifyLast = (): Promise<void> => verifyUntimed(verify, read, () => running.result());
  try {
    await running.sample(1);
    await verifyLast();
  } catch (error) {
    await running.close();
    throw error;
  }
  return {
    expected: { rows: items, sums: RIGHT },
    repeats: true,
    async sample(stopwatch, _signal, repeats = 1) {
      const { seconds, cpuUserSeconds, cpuSystemSeconds, allocatedBytes } = await running.sample(repeats);
      if (allocatedBytes !== undefined) stopwatch.addHeapBytes(allocatedBytes / repeats);
      stopwatch.add({
        seconds,
        ...(cpuUserSeconds === undefined ? {} : { cpuUserSeconds, cpuSystemSeconds: cpuSystemSeconds ?? 0 }),
      });
      return { rows: items, sums: RIGHT };
    },
    verify: verifyLast,
    close: () => running.close(),
  };
}
