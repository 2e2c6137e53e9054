/** A user's work by several ways, such as JavaScript, an addon, and a program in Rust. */
import { BoundaryError, checksumMismatch, invalidArgument, toBoundaryError } from '../../errors.js';
import { describeValue } from '../../library/crossing/describe-value.js';
import { loadedAddons } from '../../host/loaded-addons.js';
import { suggestion } from '../../closest-word.js';
import {
  type OptionChecks,
  checkBoolean,
  checkFunction,
  checkLater,
  checkNumber,
  checkOptionNames,
  oneOf,
  readOptions,
} from '../../library/crossing/options.js';
import { ownList } from '../../library/crossing/own-list.js';
import { checkText } from '../../library/crossing/well-formed.js';
import { type Cell, type Side, itemsOf } from '../../records/record.js';
import { FEWEST_CALLS_FOR_HEAP, heapBytesPerCall } from '../heap-bytes.js';
import { IN_PROCESS } from '../in-process.js';
import type { Family, FamilyOptions, OpenCell, OpenFamily, PlannedCell, Stopwatch } from '../workload.js';
import { called, calledLater, calledWithEach, calledWithEachLater, forgetResults, isPromise } from './calls.js';
import { type Canonical, DEFAULT_TOLERANCE, canonicalOf, differenceOf } from './equal.js';
import { READ_IN_FULL } from '../../records/checksum.js';
import { NOOP, noopLaneOf } from '../../records/noop.js';
import { type Reader, checkRead, copyOf, isPlain, readInFull, reading, requireUnchanged } from './plain.js';
import { type Program, checkProgram, isProgram, startWay } from './program.js';

/** Does the work once, and returns what it results in: a value, or a promise of it. */
export type WayFunction<Input> = (input: Input) => unknown;

/** A way whose side its name does not say. */
export interface SidedWay<Input> {
  readonly side: Side;
  readonly run: WayFunction<Input> | Program;
}

/** A way that times its work itself, such as Rust within an addon. */
export interface TimedWay<Input> {
  /** The side; absent: the first word of the name says it. */
  readonly side?: Side;
  /** Does the work `repeats` times, one after the other, and returns the seconds that these took together. */
  readonly timed: (input: Input, repeats: number) => number | Promise<number>;
  /** Does the work once, untimed, and returns its result. */
  readonly run: WayFunction<Input>;
}

/** A way to do the work: a function whose name says the side, a program, one with its side, or one that times itself. */
export type Way<Input> = WayFunction<Input> | Program | SidedWay<Input> | TimedWay<Input>;

/** A user's work. */
export interface OwnWorkload<Input> {
  /** The sentence that `boundary-bench list` shows. */
  readonly description?: string;
  /** The sizes of the input. The answer then says from which size on which way is the fastest. Absent: there is one input. */
  readonly sizes?: readonly number[];
  /**
   * Makes the input of a size, once in each process, untimed. It must make the same each time, or the ways can't be
   * compared: random values need a seed. Absent: the size itself is the input.
   */
  readonly input?: (size: number) => Input | Promise<Input>;
  /** Inputs by their names, instead of sizes: values, or functions that make them as `input` does. Each is compared by itself. */
  readonly inputs?: Readonly<Record<string, Input | (() => Input | Promise<Input>)>>;
  /**
   * Whether each call gets an input of its own, made untimed, for ways that use it up, such as a sort in place. `input`
   * or a function of `inputs` makes it, and all ways must be functions. Default: false.
   */
  readonly fresh?: boolean;
  /** Called once in each process, before it makes an input. */
  readonly setup?: () => unknown;
  /** Called once in each process, after its last call. */
  readonly teardown?: () => unknown;
  /**
   * The ways to do the work, by their names. The first word of a name is the side: `js` or `wasm`, `napi` for any addon, or `rust`.
   * Each must return its result, which must not depend on earlier calls. A way that changes its input fails (`BB_INPUT_CHANGED`):
   * the next call would get another one. Plain data is compared. Functions and instances of classes in the input are not.
   */
  readonly ways: Readonly<Record<string, Way<Input>>>;
  /**
   * Twins of ways, by the names of these: functions that take the same arguments, and do no work, such as an exported
   * function with an empty body. The time of a twin is the crossing, and the report says which part of a call that is.
   * Their results are not looked at.
   */
  readonly noop?: Readonly<Record<string, WayFunction<Input>>>;
  /** The items that one call works on, by which times are given; absent: times are of calls. */
  readonly items?: (size: number) => number;
  /** Throws, or returns `false`, if a result is wrong. Absent: all ways must return the same. */
  readonly check?: (result: unknown, input: Input) => unknown;
  /**
   * Reads a result. It is a part of each timed call, and must return the same for all ways. The results themselves may
   * then differ. Absent: plain data is not read. Any other result, such as an iterator, a proxy or an object with
   * accessors, is read in full within each call, and the name of the way says so.
   */
  readonly read?: (result: any) => number;
  /** The relative difference up to which two numbers are the same. Default: 1e-9. */
  readonly tolerance?: number;
  /** The URL of the module that exports the workload, `import.meta.url` there. The command line knows it. */
  readonly module?: string;
}

/** The first words of ways' names, with the sides that they stand for. */
const SIDES: Readonly<Record<string, Side>> = {
  js: 'js',
  javascript: 'js',
  ts: 'js',
  wasm: 'js',
  napi: 'napi',
  addon: 'napi',
  native: 'napi',
  ffi: 'napi',
  rust: 'rust',
};

/** The sums of a way's checksum, since results are compared before. */
const RIGHT = { right: 1 };

/** A way with its cell's place. */
interface PlannedWay<Input> {
  readonly name: string;
  readonly lane: string;
  readonly side: Side;
  readonly run: WayFunction<Input> | Program;
  /** Times the work itself; absent: the call of `run` is timed. */
  readonly timed?: TimedWay<Input>['timed'];
  /** Whether it is the twin of a way, which does no work. */
  readonly isNoop?: boolean;
}

/**
 * Makes a family of a user's work, for `boundary-bench run FILE`, where FILE exports it, and for `run({ families: [...] })`. Each way is
 * measured in processes of its own, which take turns. The number of calls of a sample is found by itself.
 *
 * All ways must return the same, by deep equality. Numbers may differ by `tolerance`. Typed arrays, iterables and plain
 * arrays are compared by their items, and `null` and `undefined` count as one. With `check`, it decides instead. With
 * `read`, the numbers that it returns are compared.
 *
 * Throws a `BoundaryError` with the code `BB_INVALID_ARGUMENT` for a definition that makes no sense, and for names that
 * it does not know.
 *
 * @example
 * ```js
 * // sum.bench.mjs, which `boundary-bench run sum.bench.mjs` measures
 * import { workload } from 'boundary-bench/bench';
 *
 * export default workload('sum', {
 *   sizes: [10, 1000],
 *   input: (size) => Float64Array.from({ length: size }, (_, index) => index),
 *   ways: {
 *     'js loop': (numbers) => {
 *       let sum = 0;
 *       for (const number of numbers) sum += number;
 *       return sum;
 *     },
 *     'js reduce': (numbers) => numbers.reduce((sum, number) => sum + number, 0),
 *   },
 * });
 * ```
 */
export function workload<Input = number>(name: string, definition: OwnWorkload<Input>): Family {
  checkText('name', name);
  const own = readOptions<OwnWorkload<Input>>(definition, CHECKS, `the workload ${name}`);
  const { sizes, tolerance = DEFAULT_TOLERANCE, module } = own;
  const ways = waysOf(name, own.ways);
  checkInputs(own, ways);
  const inputs: readonly InputPlace[] = own.inputs
    ? Object.keys(own.inputs).map((input) => ({ input }))
    : (sizes ?? [undefined]).map((size) => ({ size }));
  const twins = twinsOf(ways, own.noop);
  const work: PlannedWorkload<Input> = { ...own, name, planned: [...ways, ...twins], tolerance };
  return {
    name,
    ...(module === undefined ? {} : { module }),
    description: own.description ?? `${ways.map((way) => way.name).join(', ')}`,
    defaultRows: 1,
    hasOperations: true,
    plan: () => inputs.flatMap((place) => work.planned.map((way) => plannedWay(work, way, place))),
    open: async (options, cells) => openWork(work, options as OwnOptions, cells),
  };
}

const CHECKS: OptionChecks<OwnWorkload<never>> = {
  description: checkText,
  sizes: checkSizes,
  input: checkFunction,
  inputs: checkLater,
  fresh: checkBoolean,
  setup: checkFunction,
  teardown: checkFunction,
  ways: checkLater,
  noop: checkLater,
  items: checkFunction,
  check: checkFunction,
  read: checkFunction,
  tolerance: checkNumber,
  module: checkText,
};

/** The size of an input, or its name. */
interface InputPlace {
  readonly size?: number | undefined;
  readonly input?: string;
}

/** Throws `BB_INVALID_ARGUMENT` for inputs that make no sense together. */
function checkInputs<Input>(
  { sizes, input, inputs, fresh = false }: OwnWorkload<Input>,
  ways: readonly PlannedWay<Input>[],
): void {
  if (inputs !== undefined) {
    if (typeof inputs !== 'object' || inputs === null || Array.isArray(inputs) || Object.keys(inputs).length === 0) {
      throw invalidArgument(`inputs must be an object of inputs by their names, not ${describeValue(inputs)}`);
    }
    for (const name of Object.keys(inputs)) checkText('the name of an input', name);
    if (Object.hasOwn(inputs, '') || sizes !== undefined || input !== undefined) {
      throw invalidArgument('inputs have names, and stand instead of sizes and input');
    }
  }
  if (!fresh) return;
  const fixed = inputs && Object.keys(inputs).find((name) => typeof inputs[name] !== 'function');
  if (fixed !== undefined || (inputs ?? input) === undefined) {
    const what = fixed === undefined ? 'there is none' : `the input ${fixed} is none`;
    throw invalidArgument(`fresh inputs are made by a function, and ${what}`);
  }
  const other = ways.find(({ run, timed }) => isProgram(run) || timed !== undefined);
  if (other === undefined) return;
  throw invalidArgument(`fresh inputs go to functions, and the way ${other.name} is a program or times itself`);
}

/** A workload whose definition was checked. */
interface PlannedWorkload<Input> extends OwnWorkload<Input> {
  readonly name: string;
  readonly planned: readonly PlannedWay<Input>[];
  readonly tolerance: number;
}

/** The options with which processes open the workload: what each cell must return, by its workload. */
type OwnOptions = FamilyOptions & { readonly results?: Readonly<Record<string, Canonical>> };

function waysOf<Input>(name: string, ways: OwnWorkload<Input>['ways']): PlannedWay<Input>[] {
  if (typeof ways !== 'object' || ways === null) {
    throw invalidArgument(`ways must be an object of functions by their names, not ${describeValue(ways)}`);
  }
  const planned = Object.entries(ways).map(([way, given]) => wayOf(way, given));
  if (planned.length === 0) throw invalidArgument(`the workload ${name} has no ways`);
  const lanes = new Set(planned.map(({ lane, side }) => `${lane} ${side}`));
  if (lanes.size < planned.length) throw invalidArgument(`two ways of ${name} have the same name, but for signs`);
  return planned;
}

/** The twins of ways, in cells of their own. Throws `BB_INVALID_ARGUMENT` for one of no way. */
function twinsOf<Input>(
  ways: readonly PlannedWay<Input>[],
  noop: OwnWorkload<Input>['noop'] = {},
): PlannedWay<Input>[] {
  if (typeof noop !== 'object' || noop === null) {
    throw invalidArgument(`noop must be an object of functions by the names of ways, not ${describeValue(noop)}`);
  }
  return Object.entries(noop).map(([name, run]) => {
    const way = ways.find((each) => each.name === name);
    if (way === undefined) {
      const names = ways.map((each) => each.name);
      throw invalidArgument(
        `noop has a twin of ${describeValue(name)}; the ways are ${names.join(', ')}${suggestion(name, names)}`,
      );
    }
    checkFunction(`the twin of the way ${name}`, run);
    return { name: `${name} (noop)`, lane: noopLaneOf(way.lane), side: way.side, run, isNoop: true };
  });
}

function wayOf<Input>(name: string, given: Way<Input>): PlannedWay<Input> {
  const lane = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
  if (lane === '') throw invalidArgument(`a way needs a name with letters, not ${JSON.stringify(name)}`);
  if (typeof given !== 'object' || given === null || isProgram(given)) {
    return { name, lane, side: sideOf(name, lane), run: runOf(name, given) };
  }
  checkOptionNames(given, WAY_NAMES, `the way ${name}`);
  const { side = sideOf(name, lane), run } = given;
  oneOf('rust', 'napi', 'js')(`side of the way ${name}`, side);
  if (!('timed' in given)) return { name, lane, side, run: runOf(name, run) };
  checkFunction(`timed of the way ${name}`, given.timed);
  checkFunction(`run of the way ${name} that times itself`, run);
  return { name, lane, side, run, timed: given.timed };
}

const WAY_NAMES = { side: '', run: '', timed: '' };

function sideOf(name: string, lane: string): Side {
  const side = SIDES[lane.split('-')[0]!];
  if (side !== undefined) return side;
  throw invalidArgument(`the way ${JSON.stringify(name)} does not say on which side it is`, {
    hint: `Begin its name with one of ${Object.keys(SIDES).join(', ')}, or write { side: 'napi', run: (input) => ... }.`,
  });
}

function runOf<Input>(name: string, run: WayFunction<Input> | Program): WayFunction<Input> | Program {
  if (typeof run === 'function') return run;
  if (isProgram(run)) {
    checkProgram(name, run);
    return run;
  }
  throw invalidArgument(`the way ${name} must be a function or a program, not ${describeValue(run)}`);
}

function checkSizes(_name: string, sizes: unknown): void {
  const own = Array.isArray(sizes) ? ownList<unknown>('sizes', sizes) : [];
  const isRight = own.length > 0 && own.every((size) => Number.isFinite(size) && Number(size) >= 0);
  if (!isRight) throw invalidArgument(`sizes must be an array of numbers of 0 or more, not ${describeValue(sizes)}`);
  if (new Set(own).size < own.length) throw invalidArgument('two sizes are the same');
}

function plannedWay<Input>(
  { name, planned, items }: PlannedWorkload<Input>,
  { name: variant, lane, side, run, isNoop = false }: PlannedWay<Input>,
  { size, input }: InputPlace,
): PlannedCell {
  const count = items?.(size ?? 1) ?? 1;
  if (!Number.isSafeInteger(count) || count < 1) {
    throw invalidArgument(`items must return a whole number of 1 or more, not ${describeValue(count)}`);
  }
  const place = size ?? input;
  const idOf = (way: string): string => [name, ...(place === undefined ? [] : [place]), way].join('/');
  const cell: Cell = {
    id: idOf(lane),
    family: name,
    workload: place === undefined ? name : `${name}.${place}`,
    lane,
    side,
    variant,
    engine: isNoop ? NOOP : IN_PROCESS,
    ...(size === undefined ? {} : { size }),
    items: count,
    calls: 1,
  };
  // A twin does not compete.
  if (isNoop) return { cell, group: cell.workload };
  const rust = planned.find((way) => way.side === 'rust');
  // The first way in JavaScript is what the others are to beat.
  const rival = planned.find((way) => way.side === 'js') ?? planned[0]!;
  return {
    cell,
    group: cell.workload,
    ...(side === 'rust' || rust === undefined ? {} : { rustLane: rust.lane }),
    ...(rival.lane === lane ? {} : { rival: idOf(rival.lane) }),
    ...(isProgram(run) && { isElsewhere: true }),
  };
}

async function openWork<Input>(
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
