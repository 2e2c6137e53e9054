/** A program that runs and speaks the protocol of docs/protocol.md. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

import { BoundaryError } from '../errors.js';
import { describeValue } from '../library/crossing/describe-value.js';
import { onAbort } from '../library/crossing/abort-listeners.js';
import type { WebAbortSignal } from '../platform-types.js';
import { ABORT, ANSWERS, CLOSE, errorOf, type Failed, PROTOCOL } from '../protocol.js';

/** The most of a program's error output that is kept, in characters. */
const KEPT_OUTPUT = 2000;

/** The time that a program has to end by itself. */
const GRACE_MS = 5000;

/** How a program is started, and what it is given. */
export interface ProgramStart {
  readonly program: string;
  readonly arguments: readonly string[];
  /** The environment of its process. Default: the environment of this process. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** The fields of the order to open, beside the version of the protocol. */
  readonly opening: object;
  /** The bytes that follow that order. */
  readonly bytes?: Uint8Array | undefined;
  /** The time that it has to end by itself, in milliseconds. */
  readonly graceMs?: number;
  readonly signal?: WebAbortSignal;
}

/** The times of one sample, of all its repeats together. */
export interface ProgramSample {
  readonly seconds: number;
  readonly cpuUserSeconds?: number;
  readonly cpuSystemSeconds?: number;
  /** The bytes that the program allocated, if it counts them. */
  readonly allocatedBytes?: number;
}

/** The answers to the orders that a program gets. */
interface AnswerTo {
  readonly open: unknown;
  readonly prepare: unknown;
  readonly sample: ProgramSample;
  readonly result: { readonly result: unknown };
}

/** A program that runs, with its input. */
export class RunningProgram {
  readonly #child: ChildProcess;
  readonly #path: string;
  readonly #graceMs: number;
  readonly #lines: AsyncIterator<string>;
  readonly #ended: Promise<string>;
  #output = '';

  private constructor({ program: path, arguments: args, env, graceMs = GRACE_MS }: ProgramStart) {
    this.#path = path;
    this.#graceMs = graceMs;
    // In a process group of its own: a Ctrl-C must not end it before it has removed what it has made.
    this.#child = spawn(path, args, { stdio: ['pipe', 'pipe', 'pipe'], env, detached: true, windowsHide: true });
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

  /**
   * Starts a program, and gives it its input. Throws `BB_PROGRAM` for one that can't start, or does not understand, and
   * the error of a program that answers with a code.
   */
  static async start(start: ProgramStart): Promise<RunningProgram> {
    const { opening, bytes, signal } = start;
    const running = new RunningProgram(start);
    try {
      await running.#ask('open', { protocol: PROTOCOL, ...opening }, { bytes, signal });
    } catch (error) {
      await Promise.allSettled([running.close()]);
      throw error;
    }
    return running;
  }

  /** Has the program do ahead what its next sample would do before its timed work. */
  async prepare(signal?: WebAbortSignal): Promise<void> {
    await this.#ask('prepare', {}, { signal });
  }

  /** Has the program do the work `repeats` times. */
  async sample(repeats: number, signal?: WebAbortSignal): Promise<ProgramSample> {
    const sample = await this.#ask('sample', { repeats }, { signal });
    if (!(typeof sample.seconds === 'number' && sample.seconds >= 0)) {
      throw this.#failure(`answered a sample of ${describeValue(sample.seconds)} seconds`);
    }
    return sample;
  }

  /** The result of its last execution. */
  async result(signal?: WebAbortSignal): Promise<unknown> {
    return (await this.#ask('result', {}, { signal })).result ?? null;
  }

  /** Has it end, and resolves once it has. Throws the error of a program that fails to close. */
  async close(): Promise<void> {
    this.#child.stdin!.end(lineOf(CLOSE));
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), this.#graceMs);
    const { value: line, done } = await this.#lines.next();
    await this.#ended;
    clearTimeout(timer);
    if (done !== true) this.#read(line, undefined);
  }

  /** Gives an order, and resolves to its answer. Aborting the signal asks the program to give the order up. */
  async #ask<Type extends keyof AnswerTo>(
    type: Type,
    fields: object,
    { bytes, signal }: { readonly bytes?: Uint8Array | undefined; readonly signal?: WebAbortSignal | undefined },
  ): Promise<AnswerTo[Type]> {
    signal?.throwIfAborted();
    const input = this.#child.stdin!;
    const ignoreSignal = signal && onAbort(signal, () => void input.write(lineOf(ABORT)));
    input.write(lineOf({ type, ...fields }));
    if (bytes !== undefined) input.write(bytes);
    const { value: line, done } = await this.#lines.next().finally(ignoreSignal);
    if (done === true) throw this.#failure(`ended by ${await this.#ended}`);
    return this.#read(line, type) as AnswerTo[Type];
  }

  /** The answer to an order of this type, or to none. Throws if the line has another one. */
  #read(line: string, order: keyof AnswerTo | undefined): unknown {
    let answer: { readonly type?: unknown };
    try {
      answer = JSON.parse(line) as typeof answer;
    } catch {
      throw this.#failure(`answered a line that is no JSON: ${line.slice(0, 100)}`);
    }
    if (answer.type === 'failed') {
      const failed = answer as Failed;
      throw errorOf({ ...failed, message: String(failed.message) }) ?? this.#failure(`failed: ${failed.message}`);
    }
    const wanted = order === undefined ? 'nothing' : ANSWERS[order];
    if (answer.type !== wanted) {
      throw this.#failure(`answered ${JSON.stringify(answer.type)} when ${wanted} was asked for`);
    }
    return answer;
  }

  #failure(what: string): BoundaryError {
    const output = this.#output.trim();
    return new BoundaryError('BB_PROGRAM', `${this.#path} ${what}${output === '' ? '' : `\n${output}`}`, {
      hint: 'docs/protocol.md describes what a program is asked, and what it answers.',
    });
  }
}

function lineOf(order: object): string {
  return `${JSON.stringify(order)}\n`;
}
