/** A way that is a program: it does the work in a process of its own, and speaks the protocol of docs/protocol.md. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

import { BoundaryError, invalidArgument } from '../../errors.js';
import { describeValue } from '../../library/crossing/describe-value.js';
import { checkFunction, readOptions } from '../../library/crossing/options.js';
import { checkText } from '../../library/crossing/well-formed.js';
import { type Canonical, canonicalOf } from './equal.js';

/** The version of the protocol. */
export const PROTOCOL = 1;

/** The most of a program's error output that is kept, in characters. */
const KEPT_OUTPUT = 2000;

/** The time that a program has to end by itself. */
const GRACE_MS = 5000;

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
   * Makes the bytes of the input: a typed array, for example, or a stream of Arrow IPC. The program then gets these instead of
   * JSON, which takes long for millions of values. It is called once in each process, untimed.
   */
  readonly bytes?: (input: Input) => ArrayBufferView;
}

/**
 * A program that does the work of a way, such as one in Rust with the crate `boundary-bench`. It gets the input before the first sample,
 * repeats the work as often as it is asked to, and times it.
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
  if (!Array.isArray(args)) throw invalidArgument(`args must be an array of texts, not ${describeValue(args)}`);
  args.forEach((each: string, index) => checkText(`args[${index}]`, each));
  return { program: path, arguments: args, ...(bytes === undefined ? {} : { bytes }) };
}

export function isProgram(way: unknown): way is Program {
  return typeof way === 'object' && way !== null && 'program' in way;
}

/** The times of one sample, of all its repeats together. */
export interface ProgramSample {
  readonly seconds: number;
  readonly cpuUserSeconds?: number;
  readonly cpuSystemSeconds?: number;
  /** The bytes that the program allocated, if it counts them. */
  readonly allocatedBytes?: number;
}

interface Answers {
  readonly ready: unknown;
  readonly sample: ProgramSample;
  readonly result: { readonly result: Canonical };
}

/** A program that runs, with its input. */
export class RunningProgram {
  readonly #child: ChildProcess;
  readonly #path: string;
  readonly #lines: AsyncIterator<string>;
  readonly #ended: Promise<string>;
  #output = '';

  private constructor({ program: path, arguments: args }: Program) {
    this.#path = path;
    this.#child = spawn(path, args, { stdio: ['pipe', 'pipe', 'pipe'] });
    this.#child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#output = (this.#output + text).slice(-KEPT_OUTPUT);
    });
    // A program that has ended is found by its missing answer.
    this.#child.stdin!.on('error', () => {});
    this.#lines = createInterface({ input: this.#child.stdout! })[Symbol.asyncIterator]();
    this.#ended = new Promise((resolve) => {
      this.#child.once('error', ({ message }) => resolve(message));
      this.#child.once('close', (code, name) => resolve(name === null ? `exit code ${code}` : name));
    });
  }

  /** Starts a program, and gives it its input. Throws `BB_PROGRAM` for one that can't start, or does not understand. */
  static async start(way: Program, name: string, size: number | undefined, input: unknown): Promise<RunningProgram> {
    const [given, bytes] = inputFor(way, input);
    const running = new RunningProgram(way);
    try {
      await running.#ask({ type: 'open', protocol: PROTOCOL, workload: name, size, ...given }, 'ready', bytes);
    } catch (error) {
      running.#child.kill('SIGKILL');
      throw error;
    }
    return running;
  }

  /** Has the program do the work `repeats` times. */
  async sample(repeats: number): Promise<ProgramSample> {
    const sample = await this.#ask({ type: 'sample', repeats }, 'sample');
    if (!(typeof sample.seconds === 'number' && sample.seconds >= 0)) {
      throw this.#failure(`answered a sample of ${describeValue(sample.seconds)} seconds`);
    }
    return sample;
  }

  /** The result of its last execution. */
  async result(): Promise<Canonical> {
    return (await this.#ask({ type: 'result' }, 'result')).result ?? null;
  }

  /** Has it end, and resolves once it has. */
  async close(): Promise<void> {
    this.#child.stdin!.end(`${JSON.stringify({ type: 'close' })}\n`);
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), GRACE_MS);
    await this.#ended;
    clearTimeout(timer);
  }

  async #ask<Type extends keyof Answers>(question: object, type: Type, bytes?: Uint8Array): Promise<Answers[Type]> {
    this.#child.stdin!.write(`${JSON.stringify(question)}\n`);
    if (bytes !== undefined) this.#child.stdin!.write(bytes);
    const { value: line, done } = await this.#lines.next();
    if (done === true) throw this.#failure(`ended by ${await this.#ended}`);
    let answer: { readonly type?: unknown; readonly message?: unknown };
    try {
      answer = JSON.parse(line) as typeof answer;
    } catch {
      throw this.#failure(`answered a line that is no JSON: ${line.slice(0, 100)}`);
    }
    if (answer.type === 'failed') throw this.#failure(`failed: ${String(answer.message)}`);
    if (answer.type !== type) throw this.#failure(`answered ${JSON.stringify(answer.type)} when ${type} was asked for`);
    return answer as unknown as Answers[Type];
  }

  #failure(what: string): BoundaryError {
    const output = this.#output.trim();
    return new BoundaryError('BB_PROGRAM', `${this.#path} ${what}${output === '' ? '' : `\n${output}`}`, {
      hint: 'docs/protocol.md describes what a program is asked, and what it answers.',
    });
  }
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
