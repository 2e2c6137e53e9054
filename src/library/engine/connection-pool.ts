import { addon, type Engine } from '../../addon.js';
import { BoundaryError, invalidArgument, TIMEOUT, toBoundaryError } from '../../errors.js';
import { assertNotAborted, readWorkOptions, watchLimits, type WorkOptions } from '../crossing/cancellation.js';
import { describeValue } from '../crossing/describe-value.js';
import {
  checkBoolean,
  checkInteger,
  checkLater,
  checkTimeout,
  integerIn,
  type OptionChecks,
  orElse,
  readOptions,
} from '../crossing/options.js';
import { checkText } from '../crossing/well-formed.js';
import { Connection } from './connection.js';
import { openEngine } from './open-engine.js';

const MOST_CONNECTIONS = 65_535;

/** How many connections a pool keeps, and how long it waits for one. */
export interface PoolOptions {
  /** The most connections, 1 to 65535. Default: 10. */
  readonly max?: number | undefined;
  /** The number of idle connections that are kept however long they idle. Default: 0. */
  readonly min?: number | undefined;
  /** The time-out of `acquire` in milliseconds, after which it rejects with `BB_TIMEOUT`. Default: 30000. */
  readonly acquireTimeoutMs?: number | undefined;
  /** The time after which an idle connection is closed, in milliseconds, or Infinity. Default: 60000. */
  readonly idleTimeoutMs?: number | undefined;
  /**
   * The time for which a connection may idle, in milliseconds, until it is checked before it is lent again. A connection on which
   * something has failed in `use` is checked in any case. 0: each connection is checked, at the cost of a round trip. Default: 500.
   */
  readonly checkAfterMs?: number | undefined;
}

const POOL_OPTIONS: OptionChecks<PoolOptions> = {
  max: integerIn(1, MOST_CONNECTIONS),
  // Its bound depends on `max`.
  min: checkLater,
  acquireTimeoutMs: checkTimeout,
  idleTimeoutMs: orElse(Infinity, checkTimeout),
  checkAfterMs: orElse(0, checkTimeout),
};

const CLOSE_OPTIONS = { force: checkBoolean };

/**
 * A connection of a pool. `close`, or the end of its `await using` block, returns it to the pool, and ends work that still runs
 * on it, and its session.
 */
export class PooledConnection extends Connection {
  readonly #lease: Lease;

  /** @internal Use `ConnectionPool.acquire`. */
  constructor(raw: Engine, giveBack: (raw: Engine, lease: Lease) => Promise<void>) {
    const lease: Lease = { isWanted: true, isTrusted: true };
    super(raw, (engine) => giveBack(engine, lease));
    this.#lease = lease;
  }

  /** Like `close`, but the pool closes the connection instead of reusing it. */
  discard(): Promise<void> {
    this.#lease.isWanted = false;
    return this.close();
  }

  /** @internal Has the pool check the connection before it is lent again, however soon. */
  distrust(): void {
    this.#lease.isTrusted = false;
  }
}

interface Lease {
  /** Whether the pool is to keep the connection. */
  isWanted: boolean;
  /** Whether nothing has failed on the connection. */
  isTrusted: boolean;
}

interface Waiter {
  serve(connection: PooledConnection): void;
  fail(error: BoundaryError): void;
}

interface Idle {
  readonly raw: Engine;
  /** The time at which the connection was returned, by `performance.now()`. */
  readonly since: number;
  readonly isTrusted: boolean;
}

/**
 * Connections to one engine, opened on demand and lent to one user at a time, in the order of the requests. A connection that has
 * idled for `checkAfterMs` is checked before it is lent. A connection that no longer responds is closed and replaced.
 */
export class ConnectionPool implements AsyncDisposable {
  readonly #uri: string;
  readonly #max: number;
  readonly #min: number;
  readonly #acquireTimeoutMs: number;
  readonly #idleTimeoutMs: number;
  readonly #checkAfterMs: number;
  /** The engine that all connections share, for a URI that makes a new engine each time it is opened. */
  #root: Promise<Engine> | undefined;
  /** Idle connections, the longest idle first. */
  readonly #idle: Idle[] = [];
  /** Pending calls of `acquire`, in their order. */
  readonly #waiting = new Set<Waiter>();
  readonly #lent = new Set<PooledConnection>();
  /** The number of connections being opened or checked. */
  #preparing = 0;
  #closingConnections = 0;
  #idleTimer: NodeJS.Timeout | undefined;
  #closing: Promise<void> | undefined;
  #onEmpty: (() => void) | undefined;

  /** @internal Use `createPool`. */
  constructor(uri: string, options: PoolOptions) {
    checkText('the URI of a pool', uri);
    const read = readOptions(options, POOL_OPTIONS);
    const { max = 10, min = 0, acquireTimeoutMs = 30_000, idleTimeoutMs = 60_000, checkAfterMs = 500 } = read;
    checkInteger('min', min, 0, max);
    this.#uri = uri;
    this.#max = max;
    this.#min = min;
    this.#acquireTimeoutMs = acquireTimeoutMs;
    this.#idleTimeoutMs = idleTimeoutMs;
    this.#checkAfterMs = checkAfterMs;
  }

  /** The number of connections: lent, idle, and being opened or closed. Never more than `max`. */
  get size(): number {
    return this.#idle.length + this.#lent.size + this.#preparing + this.#closingConnections;
  }

  /** The number of idle connections. */
  get idle(): number {
    return this.#idle.length;
  }

  /** The number of pending calls of `acquire`. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Resolves to a connection as soon as one is available, in the order of the calls. Rejects with `BB_TIMEOUT` when the time-out
   * passes, with `BB_ABORTED` for the signal, with `BB_CLOSED` when the pool closes, and with the error of opening a connection.
   */
  async acquire(options: WorkOptions = {}): Promise<PooledConnection> {
    const { signal, timeoutMs = this.#acquireTimeoutMs } = readWorkOptions(options);
    this.#assertOpen();
    assertNotAborted(signal);
    const idle = this.#idle.at(-1);
    // Without the timer and the turns of those that must wait.
    if (this.#waiting.size === 0 && idle !== undefined && this.#isFresh(idle)) return this.#lend(this.#idle.pop()!.raw);
    return await new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiting.delete(waiter);
        release();
      };
      const waiter: Waiter = {
        serve: (connection) => {
          leave();
          resolve(connection);
        },
        fail: (error) => {
          leave();
          reject(error);
        },
      };
      // Its timer keeps the process alive: nothing else does while all connections are lent, and the caller's promise must
      // settle.
      const release = watchLimits({ signal, timeoutMs }, waiter.fail, (ms) => {
        const problem = `no connection within ${ms} ms; ${this.#lent.size} of ${this.#max} are lent`;
        return new BoundaryError(TIMEOUT, problem, { hint: 'Give connections back, or raise max' });
      });
      this.#waiting.add(waiter);
      this.#serveWaiting();
    });
  }

  /** Runs `work` with a connection, and returns the connection to the pool whether `work` succeeds or fails. */
  async use<T>(work: (connection: PooledConnection) => T | Promise<T>, options: WorkOptions = {}): Promise<T> {
    if (typeof work !== 'function') throw invalidArgument(`work must be a function, not ${describeValue(work)}`);
    const connection = await this.acquire(options);
    try {
      return await work(connection);
    } catch (thrown) {
      connection.distrust();
      throw thrown;
    } finally {
      await connection.close();
    }
  }

  /**
   * Rejects pending calls of `acquire`, closes the idle connections, and waits until the lent ones are returned. With `force` it
   * closes these as well, which ends the work that runs on them.
   */
  async close(options: { readonly force?: boolean | undefined } = {}): Promise<void> {
    const { force } = readOptions(options, CLOSE_OPTIONS);
    this.#closing ??= this.#closeAll();
    if (force === true) await Promise.allSettled([...this.#lent].map((connection) => connection.close()));
    await this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #closeAll(): Promise<void> {
    clearTimeout(this.#idleTimer);
    for (const waiter of this.#waiting) waiter.fail(closed());
    for (const { raw } of this.#idle.splice(0)) void this.#drop(raw);
    if (this.size > 0) await new Promise<void>((resolve) => (this.#onEmpty = resolve));
    const root = await this.#root?.catch(() => undefined);
    await root?.close();
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw closed();
  }

  /** Prepares a connection for each waiter without one, as far as `max` allows. */
  #serveWaiting(): void {
    while (this.#waiting.size > this.#preparing && (this.#idle.length > 0 || this.size < this.#max)) {
      void this.#prepare();
    }
  }

  /** Makes a connection ready, and lends it to the longest waiter. Never rejects. */
  async #prepare(): Promise<void> {
    this.#preparing++;
    const idle = this.#idle.pop();
    let raw: Engine | undefined;
    let problem: unknown;
    try {
      raw = idle !== undefined && (await this.#stillAnswers(idle)) ? idle.raw : await this.#open();
    } catch (thrown) {
      problem = thrown;
    }
    this.#preparing--;
    const [waiter] = this.#waiting;
    if (raw === undefined) waiter?.fail(toBoundaryError(problem));
    else if (waiter === undefined) this.#keep(raw, true);
    else waiter.serve(this.#lend(raw));
    this.#settle();
  }

  /** Whether a connection need not be checked before it is lent. */
  #isFresh({ since, isTrusted }: Idle): boolean {
    return isTrusted && performance.now() - since < this.#checkAfterMs;
  }

  async #stillAnswers(idle: Idle): Promise<boolean> {
    if (this.#isFresh(idle)) return true;
    const { raw } = idle;
    try {
      await raw.check();
      return true;
    } catch {
      await raw.close().catch(() => {});
      return false;
    }
  }

  async #open(): Promise<Engine> {
    if (!NAMES_NO_PLACE.test(this.#uri)) return await openEngine(this.#uri);
    const opening = (this.#root ??= openEngine(this.#uri));
    const root = await opening.catch((thrown: unknown) => {
      if (this.#root === opening) this.#root = undefined;
      throw thrown;
    });
    await root.check();
    return addon.Engine.attach(root.share());
  }

  #lend(raw: Engine): PooledConnection {
    const connection = new PooledConnection(raw, async (given, lease) => {
      this.#lent.delete(connection);
      if (lease.isWanted) this.#keep(given, lease.isTrusted);
      else await this.#drop(given);
      this.#settle();
    });
    this.#lent.add(connection);
    return connection;
  }

  #keep(raw: Engine, isTrusted: boolean): void {
    if (this.#closing !== undefined) {
      void this.#drop(raw);
      return;
    }
    // The next user finds nothing that this one set.
    raw.endSession();
    this.#idle.push({ raw, since: performance.now(), isTrusted });
    this.#watchIdle();
  }

  /** Closes a connection, which counts in `size` until it is closed. */
  async #drop(raw: Engine): Promise<void> {
    this.#closingConnections++;
    await raw.close().catch(() => {});
    this.#closingConnections--;
    this.#settle();
  }

  #settle(): void {
    if (this.#closing === undefined) this.#serveWaiting();
    else if (this.size === 0) this.#onEmpty?.();
  }

  /** Sets the timer for the connection that has been idle longest. */
  #watchIdle(): void {
    const longest = this.#idle[0];
    if (this.#idleTimer !== undefined || longest === undefined) return;
    if (this.#idleTimeoutMs === Infinity || this.size <= this.#min) return;
    const left = Math.max(1, Math.ceil(longest.since + this.#idleTimeoutMs - performance.now()));
    this.#idleTimer = setTimeout(() => {
      this.#idleTimer = undefined;
      const latest = performance.now() - this.#idleTimeoutMs;
      while (this.size - this.#closingConnections > this.#min && this.#idle.length > 0) {
        if (this.#idle[0]!.since > latest) break;
        void this.#drop(this.#idle.shift()!.raw);
      }
      this.#watchIdle();
    }, left).unref();
  }
}

/** Matches a URI without a place, such as `embedded:`: each time it is opened, it makes a new, empty engine. */
const NAMES_NO_PLACE = /^[a-z]+:(:memory:[^?]*|\/\/)?(\?.*)?$/;

/**
 * Makes a pool of connections to one engine. If the URI names no place (`embedded:`, `memory:`), they share one engine, which
 * the pool keeps for as long as it is open.
 *
 * @example
 * ```js
 * import { createPool } from 'boundary-bench';
 *
 * const pool = createPool('embedded:', { max: 4 });
 * const rows = await pool.use((connection) => connection.executeQuery('SELECT 1 AS id'));
 * console.log(rows, pool.size); // [{ id: 1 }] 1
 * await pool.close();
 * ```
 */
export function createPool(uri = 'embedded:', options: PoolOptions = {}): ConnectionPool {
  return new ConnectionPool(uri, options);
}

function closed(): BoundaryError {
  return new BoundaryError('BB_CLOSED', 'the pool is closed');
}
