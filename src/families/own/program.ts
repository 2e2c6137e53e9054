/** A way that is a program: it does the work in a process of its own, and speaks the protocol of docs/protocol.md. */
import { invalidArgument } from '../../errors.js';
import { describeValue } from '../../library/crossing/describe-value.js';
import { type OptionChecks, checkFunction, readOptions } from '../../library/crossing/options.js';
import { checkText } from '../../library/crossing/well-formed.js';
import { RunningProgram } from '../running-program.js';
import { canonicalOf } from './equal.js';

/** A program that is a way. */
export interface Program {
  readonly program: string;
  readonly arguments: readonly string[];
  /** Makes the bytes that the program gets; absent: it gets the input as JSON. */
  readonly bytes?: (input: never) => ArrayBufferView;
}

/** How a program gets its input. */
export interface ProgramOptions<Input> {
  /**
   * Makes the bytes of the input: a typed array, for example, or a stream of Arrow IPC. The program then gets these
   * instead of JSON, which takes long for millions of values. It is called once in each process, untimed.
   */
  readonly bytes?: (input: Input) => ArrayBufferView;
}

/**
 * A program that does the work of a way, such as one in Rust with the crate `boundary-bench`. It gets the input before
 * the first sample, repeats the work as often as it is asked to, and times it.
 *
 * `path` is the path of the program, relative to the current directory. The input goes to it as JSON, or as the bytes that
 * `options.bytes` makes.
 *
 * @example
 * ```js
 * import { program, workload } from 'boundary-bench/bench';
 *
 * export default workload('double', {
 *   input: () => 21,
 *   ways: {
 *     js: (value) => 2 * value,
 *     rust: program('target/release/double'), // boundary_bench::main!(|value: &f64| 2.0 * value)
 *   },
 * });
 * ```
 */
export function program<Input = never>(
  path: string,
  args: readonly string[] = [],
  options: ProgramOptions<Input> = {},
): Program {
  checkText('path', path);
  const { bytes } = readOptions(options, { bytes: checkFunction });
  checkArguments('args', args);
  return { program: path, arguments: args, ...(bytes === undefined ? {} : { bytes }) };
}

function checkArguments(name: string, args: unknown): void {
  if (!Array.isArray(args)) throw invalidArgument(`${name} must be an array of texts, not ${describeValue(args)}`);
  args.forEach((each: string, index) => checkText(`${name}[${index}]`, each));
}

const CHECKS: OptionChecks<Program> = { program: checkText, arguments: checkArguments, bytes: checkFunction };

/** Throws `BB_INVALID_ARGUMENT` if a way is no program as `program` makes it. */
export function checkProgram(name: string, way: Program): void {
  checkArguments(`arguments of the way ${name}`, readOptions(way, CHECKS, `the way ${name}`).arguments);
}

export function isProgram(way: unknown): way is Program {
  return typeof way === 'object' && way !== null && 'program' in way;
}

/** Starts the program of a way, and gives it its input. Throws the errors of `RunningProgram.start`. */
export function startWay(
  way: Program,
  workload: string,
  size: number | undefined,
  input: unknown,
): Promise<RunningProgram> {
  const [given, bytes] = inputFor(way, input);
  return RunningProgram.start({
    program: way.program,
    arguments: way.arguments,
    opening: { workload, size, ...given },
    bytes,
  });
}

/** The input as the order to open has it, and the bytes that follow the order. Throws `BB_INVALID_ARGUMENT` if `bytes` makes none. */
function inputFor({ program: path, bytes: make }: Program, input: unknown): [object, Uint8Array?] {
  if (make === undefined) return [{ input: canonicalOf(input) }];
  const made: unknown = make(input as never);
  if (!ArrayBuffer.isView(made)) {
    throw invalidArgument(`bytes of the program ${path} must return a typed array, not ${describeValue(made)}`);
  }
  return [{ bytes: made.byteLength }, new Uint8Array(made.buffer, made.byteOffset, made.byteLength)];
}
