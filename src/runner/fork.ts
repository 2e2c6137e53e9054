import { type ChildProcess, fork } from 'node:child_process';
import { setMaxListeners } from 'node:events';
import { fileURLToPath } from 'node:url';

import { builtModule, inheritedFlags } from '../built-module.js';
import { BoundaryError, TIMEOUT } from '../errors.js';
import type { Runtime } from '../families/workload.js';
import { ABORT, ANSWERS, CLOSE, errorOf } from '../protocol.js';
import type { ForkAnswer, ForkOpening, ForkOrder, ForkTask } from './fork-message.js';
import type { CellSampler, WarmUpStep } from './sampler.js';

/** The program of a fork. */
const PROGRAM = fileURLToPath(builtModule(new URL('../fork-main.js', import.meta.url)));

/** The ending of a process that was closed. */
const DONE = 'exit code 0';

/** The time that a fork has to end by itself once its run is aborted. */
const GRACE_MS = 5000;

/** The most of a fork's error output that is kept, in characters. */
const KEPT_OUTPUT = 2000;

/** The most cells that listen to one signal: as many as are alive at once, and others of this process. */
const MOST_LISTENERS = 100;

/** The processes that are alive: they do not outlive this one. */
const children = new Set<ChildProcess>();
process.on('exit', () => children.forEach((child) => child.kill('SIGKILL')));

/** The demands of the process of the run on a fork, in addition to its samples. */
export interface ForkWatch {
  readonly signal: AbortSignal;
  /** The seconds that the cell may work: its turns, without the time in which it waits for them. */
  readonly timeoutSeconds: number;
  readonly onStep: (step: WarmUpStep) => void;
  /** Flags of V8 for the process, besides the flags of this one. */
  readonly flags?: readonly string[];
  /** Another runtime than the runtime of this process. */
  readonly runtime?: Runtime | undefined;
}

/**
 * Opens a cell in a process of its own, and warms it up. This function and the methods of the sampler throw the error of the cell.
 * They throw `BB_FORK` if the process ends before it was told to, for example by a signal. They throw `BB_TIMEOUT` once it has
 * worked for `timeoutSeconds`. Once `signal` aborts and the process has ended, they throw the reason of `signal`.
 */
export async function openInFork(task: ForkTask, watch: ForkWatch): Promise<ForkedSampler> {
  watch.signal.throwIfAborted();
  const cell = new ForkedCell(watch);
  const { ready } = await cell.ask({ type: 'open', ...task });
  return {
    ready,
    take: async () => (await cell.ask({ type: 'sample' })).sample,
    result: async (verify) => (await cell.ask({ type: 'result', verify })).result,
    close: () => cell.close(),
    abandon: () => cell.end(),
    pid: cell.pid,
    exercise: (byV8) => cell.ask({ type: 'profile', byV8 }),
  };
}

/** A cell in a process of its own. */
export interface ForkedSampler extends CellSampler {
  readonly pid: number;
  /** Executes the cell for about a second, not measured, under V8's profiler or for a profiler outside. */
  exercise(byV8: boolean): Promise<AnswerTo<'profile'>>;
}

/** The answer to an order of a type. */
type AnswerTo<Type extends keyof typeof ANSWERS> = Extract<ForkAnswer, { readonly type: (typeof ANSWERS)[Type] }>;

/** An order that is answered. */
type Question = Extract<ForkOpening | ForkOrder, { readonly type: keyof typeof ANSWERS }>;

class ForkedCell {
  readonly #child: ChildProcess;
  readonly #watch: ForkWatch;
  readonly #ended: Promise<string>;
  readonly #stopListening: () => void;
  #leftMs: number;
  #isLate = false;
  #output = '';
  #startError: Error | undefined;
  #grace: NodeJS.Timeout | undefined;
  /** Takes the answer that is waited for. */
  #onAnswer: ((answer: ForkAnswer) => void) | undefined;

  constructor(watch: ForkWatch) {
    const { flags = [], runtime, signal } = watch;
    this.#watch = watch;
    this.#leftMs = watch.timeoutSeconds * 1000;
    this.#child = fork(PROGRAM, [], {
      // The output of a user's code is shown along with the progress: standard output is for the results.
      stdio: ['ignore', process.stderr.fd, 'pipe', 'ipc'],
      ...(runtime === undefined
        ? { serialization: 'advanced', execArgv: [...inheritedFlags(), ...flags] }
        : // What all runtimes understand.
          { serialization: 'json', execArgv: [...runtime.args], execPath: runtime.program }),
    });
    const child = this.#child;
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#output = (this.#output + text).slice(-KEPT_OUTPUT);
    });
    child.on('message', (answer: ForkAnswer) => {
      if (answer.type === 'warm-up') watch.onStep(answer);
      else this.#onAnswer?.(answer);
    });
    this.#ended = new Promise((resolve) => {
      child.once('error', (cause) => {
        this.#startError = cause;
        if (child.pid === undefined) resolve('no start');
      });
      // Not at `exit`, after which messages and output may still come.
      child.once('close', (code, name) => resolve(name === null ? `exit code ${code}` : name));
    });
    void this.#ended.then(() => this.#release());
    children.add(child);
    const stop = (): void => this.#stop();
    setMaxListeners(MOST_LISTENERS, signal);
    signal.addEventListener('abort', stop, { once: true });
    this.#stopListening = () => signal.removeEventListener('abort', stop);
  }

  get pid(): number {
    return this.#child.pid!;
  }

  /** Gives an order, and resolves to the answer to it. */
  async ask<Order extends Question>(order: Order): Promise<AnswerTo<Order['type']>> {
    const answer = await this.#tell(order);
    if (answer?.type === ANSWERS[order.type] && !this.#watch.signal.aborted) return answer as AnswerTo<Order['type']>;
    throw await this.#failure(answer);
  }

  /** Has the process close its cell and end, and resolves once it has. Throws the error of the cell. */
  async close(): Promise<void> {
    const answer = await this.#tell(CLOSE);
    if (answer !== undefined || (await this.#ended) !== DONE) throw await this.#failure(answer);
  }

  /** Sends an order. Resolves to the answer, or to nothing once the process has ended. */
  async #tell(order: ForkOpening | ForkOrder): Promise<ForkAnswer | undefined> {
    const startedAt = performance.now();
    const timer = setTimeout(() => {
      this.#isLate = true;
      this.#child.kill('SIGKILL');
    }, this.#leftMs);
    const answered = new Promise<ForkAnswer>((resolve) => {
      this.#onAnswer = resolve;
    });
    if (this.#child.connected) this.#child.send(order, () => {});
    const answer = await Promise.race([answered, this.#ended.then(() => undefined)]);
    clearTimeout(timer);
    this.#leftMs -= performance.now() - startedAt;
    return answer;
  }

  /** The error of an answer that is not the one that was asked for, or of none, once the process has ended. */
  async #failure(answer: ForkAnswer | undefined): Promise<unknown> {
    const ending = await this.#ended;
    this.#watch.signal.throwIfAborted();
    const error = answer?.type === 'failed' ? errorOf(answer) : undefined;
    if (error !== undefined) return error;
    if (this.#startError !== undefined) {
      return new BoundaryError('BB_FORK', `no process could be started: ${this.#startError.message}`);
    }
    if (this.#isLate) {
      return new BoundaryError(TIMEOUT, `the cell was not measured within ${this.#watch.timeoutSeconds} seconds`);
    }
    const what = `the process that measured the cell ended by ${ending}${lastWords(this.#output)}`;
    return new BoundaryError('BB_FORK', what);
  }

  /** Has the process close its cell and end, and resolves once it has. */
  async end(): Promise<void> {
    this.#stop();
    await this.#ended;
  }

  #stop(): void {
    const child = this.#child;
    if (!child.connected) return;
    child.send(ABORT, () => {});
    this.#grace ??= setTimeout(() => this.#child.kill('SIGKILL'), GRACE_MS);
  }

  #release(): void {
    clearTimeout(this.#grace);
    children.delete(this.#child);
    this.#stopListening();
  }
}

/** The last words of a process: the place and the text of a panic in Rust, or else the last line. */
export function lastWords(output: string): string {
  const lines = output.trimEnd().split('\n');
  const panic = lines.findLastIndex((line) => line.includes(' panicked at '));
  const words = panic === -1 ? lines.slice(-1) : lines.slice(panic, panic + 2);
  const text = words.join(' ').trim();
  return text === '' ? '' : `: ${text}`;
}
