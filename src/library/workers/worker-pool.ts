import { availableParallelism } from 'node:os';
import { isAbsolute } from 'node:path';
import { pathToFileURL } from 'node:url';

import { BoundaryError, invalidArgument } from '../../errors.js';
import type { WebAbortSignal } from '../../platform-types.js';
import { WORK_OPTIONS, type WorkOptions } from '../crossing/cancellation.js';
import { describeValue } from '../crossing/describe-value.js';
import {
  checkBoolean,
  checkInteger,
  checkLater,
  checkOptionNames,
  checkTimeout,
  integerIn,
  type OptionChecks,
  orElse,
  readOptions,
} from '../crossing/options.js';
import { ownList } from '../crossing/own-list.js';
import { attach, type Connection, engineOf } from '../engine/connection.js';
import { PoolCall } from './pool-call.js';
import { PoolThread } from './pool-thread.js';

const MOST_WORKERS = 1024;

/** Options of `createWorkers`. */
export interface WorkersOptions {
  /**
   * The module whose exported functions the threads call: a URL, such as `new URL('./work.js', import.meta.url)`, or an absolute path.
   * Each thread loads it once.
   */
  readonly module: string | { readonly href: string };
  /** The number of threads, 1 to 1024. Default: the number of cores that this process may use. */
  readonly count?: number | undefined;
  /**
   * An engine that all threads share with this one: each attaches to it, and functions find it as `context.connection`. The pool
   * keeps it open until it closes, also for threads that start again, and if the caller has closed the connection.
   */
  readonly connection?: Connection | undefined;
  /** The most calls that wait for a thread. A further call is rejected with `BB_QUEUE_FULL`. Default: no limit. */
  readonly maxQueued?: number | undefined;
  /**
   * The time in milliseconds in which a function must end after its signal was aborted, and a thread after the pool was closed.
   * After that time the thread is terminated. Default: 1000.
   */
  readonly graceMs?: number | undefined;
}

const WORKERS_OPTIONS: OptionChecks<WorkersOptions> = {
  module: checkLater,
  count: integerIn(1, MOST_WORKERS),
  connection: checkLater,
  maxQueued: orElse(Infinity, integerIn(0, Number.MAX_SAFE_INTEGER)),
  graceMs: checkTimeout,
};

const CLOSE_OPTIONS = { force: checkBoolean };

/** The context that a function gets besides its argument. */
export interface WorkerContext {
  /** The number of the thread, from 0. */
  readonly index: number;
  /** The number of threads of the pool. */
  readonly count: number;
  /** The connection to the engine that was given to `createWorkers`. Throws `BB_INVALID_ARGUMENT` if there is none. */
  readonly connection: Connection;
  /** Aborts when the call's signal does, or its time-out passes: the function has `graceMs` to end then. */
  readonly signal: WebAbortSignal;
  /** Hands buffers over with what the function returns, instead of copies: they are empty here afterwards. */
  transfer(...values: readonly object[]): void;
}

/** A function that threads call. Its argument and its result are copied as `structuredClone` copies. */
export type WorkerFunction<Argument, Result> = (argument: Argument, context: WorkerContext) => Result | Promise<Result>;

/** The functions of a module. */
type AnyModule = Readonly<Record<string, WorkerFunction<unknown, unknown>>>;

type FunctionName<Module> = {
  [Name in keyof Module]: Module[Name] extends (argument: never, context: WorkerContext) => unknown ? Name : never;
}[keyof Module] &
  string;

type ArgumentOf<Work> = Work extends (...parameters: infer All extends readonly unknown[]) => unknown ? All[0] : never;
type ResultOf<Work> = Work extends (...parameters: never) => infer Result ? Awaited<Result> : never;

/** Options of a call of `WorkerPool`, besides its argument. */
export interface CallOptions extends WorkOptions {
  /** Buffers and ports of the argument that are handed over instead of copies: they are empty here afterwards. */
  readonly transfer?: readonly object[] | undefined;
  /** The number of the thread that makes the call, from 0. Default: the first that is free. */
  readonly worker?: number | undefined;
}

const CALL_OPTIONS: OptionChecks<CallOptions> = { ...WORK_OPTIONS, transfer: checkLater, worker: checkLater };

/** A call that waits for a thread, or for the thread of this number if it has one. */
interface Waiting {
  readonly call: PoolCall;
  readonly worker: number | undefined;
}

/**
 * Threads that call the functions of a module, each one call at a time, in the order of the calls. A thread that crashes fails its
 * own call alone, and the next one starts it again, with its module loaded again. An idle pool does not keep the process alive.
 *
 * All errors are `BoundaryError`s. Errors of this package keep their code on the way from a thread. Any other error of a function
 * is the `cause` of one with the code `BB_FUNCTION_FAILED`.
 */
export class WorkerPool<Module = AnyModule> implements AsyncDisposable {
  readonly #threads: readonly PoolThread[];
  /** Keeps the engine open for threads that start again, even if the caller closes its connection. */
  readonly #engine: Connection | undefined;
  readonly #maxQueued: number;
  readonly #queue: Waiting[] = [];
  /** The calls under way, by the number of their thread. */
  readonly #underWay = new Map<number, Promise<void>>();
  readonly #draining: (() => void)[] = [];
  #closing: Promise<void> | undefined;

  /** @internal Use `createWorkers`. */
  constructor(threads: readonly PoolThread[], engine: Connection | undefined, maxQueued: number) {
    this.#threads = threads;
    this.#engine = engine;
    this.#maxQueued = maxQueued;
  }

  /** The number of threads. */
  get count(): number {
    return this.#threads.length;
  }

  /** The number of calls under way. */
  get busy(): number {
    return this.#underWay.size;
  }

  /** The number of calls that wait for a thread. */
  get waiting(): number {
    return this.#queue.length;
  }

  /**
   * Calls the function `name` of the module in a thread, and resolves to what it returns. A call that a signal or a time-out ends is
   * rejected once its function has ended, or at once if it still waits. Rejects with
   *
   * - `BB_FUNCTION_NOT_FOUND` if the module exports no such function, and `BB_FUNCTION_FAILED` if it fails;
   * - `BB_NOT_CLONEABLE` if the argument or the result can't be sent to another thread;
   * - `BB_WORKER_EXITED` if the thread crashes or exits, and `BB_MODULE_NOT_LOADED` if it can't be started again;
   * - `BB_QUEUE_FULL` if `maxQueued` calls wait, `BB_CLOSED` if the pool is closed, `BB_ABORTED` and `BB_TIMEOUT`.
   */
  async run<Name extends FunctionName<Module>>(
    name: Name,
    argument?: ArgumentOf<Module[Name]>,
    options: CallOptions = {},
  ): Promise<ResultOf<Module[Name]>> {
    const limits = readOptions(options, CALL_OPTIONS);
    const { transfer = [], worker } = limits;
    if (typeof name !== 'string') throw invalidArgument(`the name of a function is needed, not ${describeValue(name)}`);
    if (worker !== undefined) checkInteger('worker', worker, 0, this.count - 1);
    if (this.#closing !== undefined) throw closed();
    if (this.#queue.length >= this.#maxQueued && this.#freeFor(worker) === undefined) {
      throw new BoundaryError('BB_QUEUE_FULL', `${this.#queue.length} calls wait for a thread already`, {
        hint: 'Await drain() before the next call, or raise maxQueued',
      });
    }
    const call = new PoolCall(name, argument, ownList('transfer', transfer), limits);
    const waiting: Waiting = { call, worker };
    call.onEnded = () => {
      this.#queue.splice(this.#queue.indexOf(waiting), 1);
      call.reject(call.ended!);
      this.#serve();
    };
    this.#queue.push(waiting);
    this.#serve();
    return (await call.result) as ResultOf<Module[Name]>;
  }

  /**
   * Calls a function once in each thread, with the argument that `argumentOf` makes for its number. Returns the promises of all.
   * Await them with `Promise.all`, or with `Promise.allSettled` to have the other results if one fails.
   */
  runOnEach<Name extends FunctionName<Module>>(
    name: Name,
    argumentOf?: (index: number) => ArgumentOf<Module[Name]>,
    options: WorkOptions = {},
  ): Promise<ResultOf<Module[Name]>>[] {
    checkOptionNames(options, WORK_OPTIONS);
    if (argumentOf !== undefined && typeof argumentOf !== 'function') {
      throw invalidArgument(`argumentOf must be a function, not ${describeValue(argumentOf)}`);
    }
    // All arguments first: if one can't be made, no call is under way whose promise nobody has.
    const all = this.#threads.map((_, worker) => argumentOf?.(worker));
    return all.map((argument, worker) => this.run(name, argument, { ...options, worker }));
  }

  /** Resolves when fewer calls wait than there are threads, for a caller who must not run ahead of them. */
  async drain(): Promise<void> {
    if (this.#queue.length < this.count) return;
    await new Promise<void>((resolve) => this.#draining.push(resolve));
  }

  /**
   * Rejects the calls that wait with `BB_CLOSED`, awaits those under way, and ends the threads. With `force` it terminates them,
   * and rejects the calls under way as well. Does nothing the second time.
   */
  async close(options: { readonly force?: boolean | undefined } = {}): Promise<void> {
    const { force } = readOptions(options, CLOSE_OPTIONS);
    this.#closing ??= this.#closeAll();
    if (force === true) await Promise.all(this.#threads.map((thread) => thread.terminate(closed())));
    await this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #closeAll(): Promise<void> {
    for (const { call } of this.#queue.splice(0)) call.reject(closed());
    this.#resumeDraining();
    await Promise.all(this.#underWay.values());
    await closeThreads(this.#threads, this.#engine);
  }

  /** Gives waiting calls to the threads that are free for them. */
  #serve(): void {
    for (let at = 0; at < this.#queue.length && this.#underWay.size < this.count;) {
      const { call, worker } = this.#queue[at]!;
      const free = this.#freeFor(worker);
      if (free === undefined) {
        at += 1;
        continue;
      }
      this.#queue.splice(at, 1);
      call.onEnded = () => {};
      const over = this.#threads[free]!.perform(call).then(() => {
        this.#underWay.delete(free);
        this.#serve();
      });
      this.#underWay.set(free, over);
    }
    if (this.#queue.length < this.count) this.#resumeDraining();
  }

  /** The number of a thread that can take a call for `worker`, or for any. */
  #freeFor(worker: number | undefined): number | undefined {
    if (worker !== undefined) return this.#underWay.has(worker) ? undefined : worker;
    const free = this.#threads.findIndex((_, index) => !this.#underWay.has(index));
    return free === -1 ? undefined : free;
  }

  #resumeDraining(): void {
    for (const resume of this.#draining.splice(0)) resume();
  }
}

/**
 * Starts threads that call the functions of a module, and resolves when all of them have loaded it. `Module` is the type of the module,
 * by which calls are checked: `createWorkers<typeof import('./work.js')>({ module: new URL('./work.js', import.meta.url) })`.
 *
 * Rejects with `BB_MODULE_NOT_LOADED` if the module can't be loaded, `BB_CLOSED` if the connection is closed, and `BB_WORKER_EXITED` if
 * a thread ends while it starts.
 *
 * @example
 * ```js
 * // work.js: export const double = (value) => 2 * value;
 * import { connect, createWorkers } from 'boundary-bench';
 *
 * const connection = await connect('embedded:');
 * const module = new URL('./work.js', import.meta.url);
 * const workers = await createWorkers({ module, connection, count: 2 });
 * console.log(await workers.run('double', 21)); // 42
 * await workers.close();
 * await connection.close();
 * ```
 */
export async function createWorkers<Module = AnyModule>(options: WorkersOptions): Promise<WorkerPool<Module>> {
  const read = readOptions(options, WORKERS_OPTIONS);
  const { count = availableParallelism(), connection, maxQueued = Infinity, graceMs = 1000 } = read;
  const module = moduleUrl(read.module);
  if (connection !== undefined) engineOf(connection);
  const handle = connection?.share();
  const engine = handle === undefined ? undefined : attach(handle);
  const threads = Array.from(
    { length: count },
    (_, index) => new PoolThread({ module, engine: handle, index, count }, graceMs),
  );
  const started = await Promise.allSettled(threads.map((thread) => thread.start()));
  const failed = started.find((start) => start.status === 'rejected');
  if (failed === undefined) return new WorkerPool(threads, engine, maxQueued);
  await closeThreads(threads, engine);
  throw failed.reason;
}

/** Ends the threads of a pool, then lets go of its engine. */
async function closeThreads(threads: readonly PoolThread[], engine: Connection | undefined): Promise<void> {
  await Promise.all(threads.map((thread) => thread.close()));
  await engine?.close();
}

/** The URL of a module that is given as a URL or as an absolute path. */
function moduleUrl(module: unknown): string {
  if (module instanceof URL) return module.href;
  if (typeof module === 'string') {
    if (isAbsolute(module)) return pathToFileURL(module).href;
    if (URL.canParse(module)) return module;
  }
  throw invalidArgument(`module must be a URL or an absolute path, not ${describeValue(module)}`, {
    hint: "Name it beside the caller: new URL('./work.js', import.meta.url)",
  });
}

function closed(): BoundaryError {
  return new BoundaryError('BB_CLOSED', 'the pool of workers is closed');
}
