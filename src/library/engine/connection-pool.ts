import { addon, type Engine } from '../../addon.js';
import { BoundaryError, TIMEOUT, toBoundaryError } from '../../errors.js';
import { abortedBy, checkTimeout, readWorkOptions, type WorkOptions } from '../crossing/cancellation.js';
import { Connection } from './connection.js';
import { serveCommand } from '../crossing/reference-server.js';

const MOST_CONNECTIONS = 65_535;

export interface PoolOptions {
  /** At most so many connections, 1 to 65535; 10 where it is left out. */
  readonly max?: number | undefined;
  /** So many idle connections are kept however long they idle; 0 where it is left out. */
  readonly min?: number | undefined;
  /** How long `acquire` waits for a connection, in milliseconds; then it is `BB_TIMEOUT`. 30000 where it is left out. */
  readonly acquireTimeoutMs?: number | undefined;
  /** How long a connection idles before it is closed, in milliseconds, or Infinity. 60000 where it is left out. */
  readonly idleTimeoutMs?: number | undefined;
}

/** A connection of a pool. `close`, or leaving its `await using` block, gives it back, and ends what still runs on it. */
export class PooledConnection extends Connection {
  readonly #lease: Lease;

  /** @internal Use `ConnectionPool.acquire`. */
  constructor(raw: Engine, giveBack: (raw: Engine, lease: Lease) => Promise<void>) {
    const lease: Lease = { isWanted: true };
    super(raw, (engine) => giveBack(engine, lease));
    this.#lease = lease;
  }

  /** As `close`, but the pool closes the connection instead of handing it to the next. */
  discard(): Promise<void> {
    this.#lease.isWanted = false;
    return this.close();
  }
}

interface Lease {
  /** Whether the pool is to keep the connection. */
  isWanted: boolean;
}

interface Waiter {
  serve(connection: PooledConnection): void;
  fail(error: BoundaryError): void;
}

interface Idle {
  readonly raw: Engine;
  /** When it was given back, by `performance.now()`. */
  readonly since: number;
}

/**
 * Connections to one engine, opened when they are needed and lent to one user at a time, in the order in which they asked.
 * A connection that idled is checked before it is lent; one that no longer answers is closed and replaced.
 */
export class ConnectionPool implements AsyncDisposable {
  readonly #uri: string;
  readonly #max: number;
  readonly #min: number;
  readonly #acquireTimeoutMs: number;
  readonly #idleTimeoutMs: number;
  /** The engine that all connections share, where each open of the URI would make a new one. */
  #root: Promise<Engine> | undefined;
  /** The longest idle first. */
  readonly #idle: Idle[] = [];
  /** In the order in which they asked. */
  readonly #waiting = new Set<Waiter>();
  readonly #lent = new Set<PooledConnection>();
  /** Connections that are being opened or checked. */
  #preparing = 0;
  #closingConnections = 0;
  #idleTimer: NodeJS.Timeout | undefined;
  #closing: Promise<void> | undefined;
  #onEmpty: (() => void) | undefined;

  /** @internal Use `createPool`. */
  constructor(uri: string, options: PoolOptions) {
    const { max = 10, min = 0, acquireTimeoutMs = 30_000, idleTimeoutMs = 60_000 } = options;
    if (typeof uri !== 'string') throw new BoundaryError('BB_INVALID_ARGUMENT', 'the URI of a pool must be a string');
    checkCount('max', max, 1, MOST_CONNECTIONS);
    checkCount('min', min, 0, max);
    checkTimeout('acquireTimeoutMs', acquireTimeoutMs);
    if (idleTimeoutMs !== Infinity) checkTimeout('idleTimeoutMs', idleTimeoutMs);
    this.#uri = uri;
    this.#max = max;
    this.#min = min;
    this.#acquireTimeoutMs = acquireTimeoutMs;
    this.#idleTimeoutMs = idleTimeoutMs;
  }

  /** All connections: lent, idle, and being opened or closed. Never more than `max`. */
  get size(): number {
    return this.#idle.length + this.#lent.size + this.#preparing + this.#closingConnections;
  }

  /** Connections that nobody uses. */
  get idle(): number {
    return this.#idle.length;
  }

  /** Calls of `acquire` that wait. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Resolves to a connection when there is one; whoever asked first gets the first. Rejects with `BB_TIMEOUT` when that
   * takes too long, with `BB_ABORTED` for the signal, with `BB_CLOSED` when the pool closes, and with why a connection
   * can't be opened.
   */
  async acquire(options: WorkOptions = {}): Promise<PooledConnection> {
    const { signal, timeoutMs = this.#acquireTimeoutMs } = readWorkOptions(options);
    this.#assertOpen();
    if (signal?.aborted) throw abortedBy(signal);
    return await new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiting.delete(waiter);
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
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
      const onAbort = (): void => waiter.fail(abortedBy(signal!));
      // Keeps the process alive: nothing else does while all connections are lent, and the caller is owed an answer.
      const timer = setTimeout(() => {
        const problem = `no connection within ${timeoutMs} ms; ${this.#lent.size} of ${this.#max} are lent`;
        waiter.fail(new BoundaryError(TIMEOUT, problem, { hint: 'Give connections back, or raise max' }));
      }, timeoutMs);
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiting.add(waiter);
      this.#serveWaiting();
    });
  }

  /** Runs `work` with a connection, and gives it back whatever happens. */
  async use<T>(work: (connection: PooledConnection) => T | Promise<T>, options: WorkOptions = {}): Promise<T> {
    const connection = await this.acquire(options);
    try {
      return await work(connection);
    } finally {
      await connection.close();
    }
  }

  /**
   * Rejects those who wait, closes the idle connections, and waits until the lent ones are given back; with `force` it
   * closes these as well, which ends what runs on them.
   */
  async close(options: { readonly force?: boolean } = {}): Promise<void> {
    this.#closing ??= this.#closeAll();
    if (options.force === true) await Promise.allSettled([...this.#lent].map((connection) => connection.close()));
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

  /** Prepares as many connections as there are waiters for them, and room. */
  #serveWaiting(): void {
    while (this.#waiting.size > this.#preparing && (this.#idle.length > 0 || this.size < this.#max)) {
      void this.#prepare();
    }
  }

  /** Makes a connection ready, and lends it to whoever has waited longest by then. Never rejects. */
  async #prepare(): Promise<void> {
    this.#preparing++;
    const idle = this.#idle.pop();
    let raw: Engine | undefined;
    let problem: unknown;
    try {
      raw = idle !== undefined && (await this.#stillAnswers(idle.raw)) ? idle.raw : await this.#open();
    } catch (thrown) {
      problem = thrown;
    }
    this.#preparing--;
    const [waiter] = this.#waiting;
    if (raw === undefined) waiter?.fail(toBoundaryError(problem));
    else if (waiter === undefined) this.#keep(raw);
    else waiter.serve(this.#lend(raw));
    this.#settle();
  }

  async #stillAnswers(raw: Engine): Promise<boolean> {
    try {
      await raw.check();
      return true;
    } catch {
      await raw.close().catch(() => {});
      return false;
    }
  }

  async #open(): Promise<Engine> {
    if (!NAMES_NO_PLACE.test(this.#uri)) return await addon.Engine.open(this.#uri, serveCommand());
    const opening = (this.#root ??= addon.Engine.open(this.#uri, serveCommand()));
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
      if (lease.isWanted) this.#keep(given);
      else await this.#drop(given);
      this.#settle();
    });
    this.#lent.add(connection);
    return connection;
  }

  #keep(raw: Engine): void {
    if (this.#closing !== undefined) {
      void this.#drop(raw);
      return;
    }
    this.#idle.push({ raw, since: performance.now() });
    this.#watchIdle();
  }

  /** Closes a connection; it counts until that is done. */
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

  /** Sets the timer for the connection that has idled longest. */
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

/** A URI of a scheme alone, such as `embedded:`: every open of it is an engine of its own, without rows. */
const NAMES_NO_PLACE = /^[a-z]+:(\?.*)?$/;

/**
 * A pool of connections to one engine. Where the URI names no place (`embedded:`, `memory:`), they share the engine that
 * the pool keeps for as long as it is open.
 */
export function createPool(uri = 'embedded:', options: PoolOptions = {}): ConnectionPool {
  return new ConnectionPool(uri, options);
}

function checkCount(name: string, value: unknown, least: number, most: number): void {
  if (Number.isInteger(value) && Number(value) >= least && Number(value) <= most) return;
  throw new BoundaryError(
    'BB_INVALID_ARGUMENT',
    `${name} must be an integer of ${least} to ${most}, not ${String(value)}`,
  );
}

function closed(): BoundaryError {
  return new BoundaryError('BB_CLOSED', 'the pool is closed');
}
