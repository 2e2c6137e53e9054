/** A user's work by several ways, such as JavaScript, an addon, and a program in Rust. */
import { invalidArgument } from '../../errors.js';
import { describeValue } from '../../library/crossing/describe-value.js';
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
import { type Cell, type Side, NOOP, noopLaneOf } from '../../records/record.js';
import { IN_PROCESS } from '../in-process.js';
import type { Family, FamilyOptions, PlannedCell } from '../workload.js';
import { type Canonical, DEFAULT_TOLERANCE } from './equal.js';
import { type Program, checkProgram, isProgram } from './program.js';
import { openWork } from './open.js';

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

/** A way with its cell's place. */
export interface PlannedWay<Input> {
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
export interface PlannedWorkload<Input> extends OwnWorkload<Input> {
  readonly name: string;
  readonly planned: readonly PlannedWay<Input>[];
  readonly tolerance: number;
}

/** The options with which processes open the workload: what each cell must return, by its workload. */
export type OwnOptions = FamilyOptions & { readonly results?: Readonly<Record<string, Canonical>> };

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
