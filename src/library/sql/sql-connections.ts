import { addon, type SqlLoop, type SqlShapes } from '../../addon.js';
import { BoundaryError, toBoundaryError } from '../../errors.js';
import { connecting } from '../crossing/connecting.js';
import { assertNotAborted, watchLimits, withOutcome, type WorkOptions } from '../crossing/cancellation.js';
import type { CellWriter } from '../engine/cell-writer.js';
import { FrameMemory } from '../engine/frame.js';
import { ANSWERED, errorOf, GONE, RESULT_WORDS } from '../crossing/result-frame.js';
import { LOST_TRANSACTION, LOST_UNTOLD, ResultBytes } from './sql-results.js';

/**
 * The most plain reads that a connection has under way, and the number from which on an idle connection is taken as well: a server runs what
 * comes over one connection one after the other.
 */
const MOST_AHEAD = 64;
const MANY_AHEAD = 32;

/** The milliseconds above twice the shortest time of any plain read, beyond which a statement shares no connection. */
const SLOW_MS = 1;

/** The time of a plain read that was sent behind others beyond which its statement shares no connection until it was fast alone. */
const SLOW_AHEAD_MS = 20;

/** The number from which on results belong to reads that were sent ahead, and not to connections. */
const AHEAD = 2 ** 31;

/** A statement that only reads rows. Those that are fast share connections: each read waits for those before it. */
export class PlainRead {
  isFast = false;
}

/** A call that waits for its connection or for its response. */
class Call {
  /** The bytes to send, while the call waits for a connection. */
  submission: Uint8Array | undefined;
  /** The number of the connection on which the call was sent. */
  connection: number | undefined;
  /** The statement of a call that may share its connection. */
  readonly read: PlainRead | undefined;
  #sentAt = 0;
  readonly #resolve: (results: ResultBytes) => void;
  readonly #reject: (error: BoundaryError) => void;
  #release: (() => void) | undefined;

  constructor(
    resolve: (results: ResultBytes) => void,
    reject: (error: BoundaryError) => void,
    read: PlainRead | undefined,
  ) {
    this.#resolve = resolve;
    this.#reject = reject;
    this.read = read;
  }

  /** Notes that the call is sent on a connection. */
  sendOn(connection: number): void {
    this.connection = connection;
    if (this.read !== undefined) this.#sentAt = performance.now();
  }

  /** The milliseconds since the call was sent: how long it waited for a connection says nothing of its statement. */
  get milliseconds(): number {
    return performance.now() - this.#sentAt;
  }

  /** Keeps a copy of the bytes to send, while the call waits for a connection. */
  keep(bytes: Uint8Array, length: number): this {
    // A Buffer's own `slice` is a view of memory that the next call overwrites.
    this.submission ??= Uint8Array.prototype.slice.call(bytes, 0, length);
    return this;
  }

  /** Calls `giveUp` when the signal is aborted or the time-out passes. */
  limit(limits: WorkOptions, giveUp: (error: BoundaryError) => void): void {
    this.#release = watchLimits(limits, giveUp);
  }

  resolve(results: ResultBytes): void {
    this.#release?.();
    this.#resolve(results);
  }

  reject(error: BoundaryError): void {
    this.#release?.();
    this.#reject(error);
  }
}

/** The connections of all clients that the event loop of this thread drives. */
class Loop {
  readonly shapes: SqlShapes = new addon.SqlShapes();
  readonly #loop: SqlLoop;
  /** The owner of each connection, by the connection's number. */
  readonly #owners: (SqlConnections | undefined)[] = [];
  readonly #calls: (Call | undefined)[] = [];
  /** The reads that were sent ahead, by their places, and the places that are free. */
  readonly #ahead: (Call | undefined)[] = [];
  readonly #free: number[] = [];
  /** The connections with reads that are not sent yet. */
  readonly #unsent = new Set<number>();
  readonly #flush = (): void => {
    const numbers = [...this.#unsent];
    this.#unsent.clear();
    for (const number of numbers) this.#take(this.#loop.flush(number));
  };
  /** The memory of the last results, which small results share. */
  #memory: FrameMemory | undefined;

  constructor() {
    this.#loop = new addon.SqlLoop(this.shapes, (buffer, start, end) => this.#deliver(buffer, start, end));
  }

  async connect(url: string, owner: SqlConnections): Promise<{ readonly number: number; readonly version: string }> {
    const connection = await addon.SqlConnection.open(url);
    const number = this.#loop.add(connection);
    this.#owners[number] = owner;
    return { number, version: connection.version };
  }

  /** Begins a call on an idle connection. If it throws, nothing was sent, and the call is not the connection's. */
  submit(number: number, call: Call, bytes: Uint8Array, length: number): void {
    call.sendOn(number);
    this.#calls[number] = call;
    let frame: ArrayBuffer | undefined;
    try {
      frame = this.#loop.submit(number, bytes, length);
    } catch (thrown) {
      call.connection = undefined;
      this.#calls[number] = undefined;
      throw thrown;
    }
    this.#take(frame);
  }

  /**
   * Sends a plain read behind those that a connection has under way, at the end of this turn of the event loop. Returns false if the
   * connection can't send it now. Throws like `submit`.
   */
  readAhead(number: number, call: Call, bytes: Uint8Array, length: number): boolean {
    const place = this.#free.pop() ?? this.#ahead.length;
    this.#ahead[place] = undefined;
    let isSent = false;
    try {
      isSent = this.#loop.readAhead(number, AHEAD + place, bytes, length);
    } finally {
      if (!isSent) this.#free.push(place);
    }
    if (!isSent) return false;
    call.sendOn(number);
    this.#ahead[place] = call;
    if (this.#unsent.size === 0) process.nextTick(this.#flush);
    this.#unsent.add(number);
    return true;
  }

  /** Takes the reads that a connection has under way. They are not settled by the loop any more. */
  takeAhead(number: number): Call[] {
    const calls: Call[] = [];
    for (const [place, call] of this.#ahead.entries()) {
      if (call?.connection !== number) continue;
      calls.push(call);
      this.#ahead[place] = undefined;
    }
    return calls;
  }

  #take(frame: ArrayBuffer | undefined): void {
    if (frame !== undefined) this.#deliver(frame, 0, frame.byteLength);
  }

  /**
   * Closes a connection. Returns its call, which is not settled by the loop any more, and the error for the calls that rely on the session, if
   * it was changed.
   */
  remove(number: number): { readonly call: Call | undefined; readonly loss: BoundaryError | undefined } {
    const call = this.#calls[number];
    this.#owners[number] = undefined;
    this.#calls[number] = undefined;
    const loss = this.#loop.remove(number) ?? undefined;
    return { call, loss: loss === undefined ? undefined : errorOf(loss) };
  }

  /** Takes the call whose result has a number. The connection takes other calls then. */
  #callOf(number: number): Call | undefined {
    if (number < AHEAD) {
      const call = this.#calls[number];
      this.#calls[number] = undefined;
      this.#owners[number]?.free(number, call);
      return call;
    }
    const place = number - AHEAD;
    const call = this.#ahead[place];
    this.#ahead[place] = undefined;
    this.#free.push(place);
    if (call !== undefined) this.#owners[call.connection!]?.readIsOver(call);
    return call;
  }

  /** Delivers the results between two byte offsets of a buffer. */
  #deliver(buffer: ArrayBuffer, start: number, end: number): void {
    const memory = this.#memory?.buffer === buffer ? this.#memory : new FrameMemory(buffer);
    const { words } = memory;
    // Lost connections come first: their calls' results must not make them idle ones.
    for (let word = start / 4; word < end / 4; word = nextResult(words, word)) {
      if (words[word + 1] !== GONE) continue;
      const number = words[word]!;
      const owner = this.#owners[number];
      this.#owners[number] = undefined;
      const first = (word + RESULT_WORDS) * 4;
      const length = words[word + 3]!;
      const loss = length === 0 ? undefined : errorOf(memory.bytes.toString('utf8', first, first + length));
      owner?.gone(number, loss, words[word + 4]!);
    }
    // The only result of a buffer takes the memory along.
    const isAlone = end === buffer.byteLength && start === 0 && nextResult(words, 0) === end / 4;
    this.#memory = isAlone ? undefined : memory;
    for (let word = start / 4; word < end / 4; word = nextResult(words, word)) {
      const status = words[word + 1];
      if (status === GONE) continue;
      const call = this.#callOf(words[word]!);
      const first = (word + RESULT_WORDS + words[word + 2]!) * 4;
      const last = first + words[word + 3]!;
      if (status === ANSWERED) call?.resolve(new ResultBytes(memory, first, last, isAlone));
      else call?.reject(errorOf(memory.bytes.toString('utf8', first, last)));
    }
  }
}

/** The word after the result at `word`. */
function nextResult(words: Uint32Array, word: number): number {
  return word + RESULT_WORDS + words[word + 2]! + ((words[word + 3]! + 3) >>> 2);
}

let loop: Loop | undefined;

/** The connections of a client, with the queue of calls for them. The event loop drives them: no other thread takes part. */
export class SqlConnections {
  readonly #url: string;
  readonly #loop: Loop;
  readonly #most: number;
  readonly #connectMs: number;
  readonly #connections = new Set<number>();
  readonly #idle: number[] = [];
  readonly #waiting: Call[] = [];
  /** The number of plain reads under way on each connection that has any. */
  readonly #reading = new Map<number, number>();
  /** The shortest time of a plain read that had a connection of its own, in milliseconds. */
  #shortestMs = Infinity;
  #opening = 0;
  /** The error for the next call, which would else take another session for the one that was lost. */
  #loss: BoundaryError | undefined;
  #version = '';
  #isClosed = false;

  private constructor(url: string, most: number, connectMs: number) {
    loop ??= new Loop();
    this.#loop = loop;
    this.#url = url;
    this.#most = most;
    this.#connectMs = connectMs;
  }

  /** Connects once. */
  static async open(url: string, most: number, connectMs: number): Promise<SqlConnections> {
    const connections = new SqlConnections(url, most, connectMs);
    await connections.#open();
    return connections;
  }

  /** The name and version of the server. */
  get version(): string {
    return this.#version;
  }

  /** The columns of results, by the shapes' numbers. */
  get shapes(): SqlShapes {
    return this.#loop.shapes;
  }

  /**
   * Runs a submission on a connection of its own. Only plain reads that were fast the last time share a connection.
   * `read`: the statement of a plain read that no signal and no time-out ends.
   */
  perform({ bytes, length }: CellWriter, options?: WorkOptions, read?: PlainRead): Promise<ResultBytes> {
    return new Promise((resolve, reject) => {
      assertNotAborted(options?.signal);
      const call = new Call(resolve, reject, read);
      if (options !== undefined) call.limit(options, (error) => this.#giveUp(call, error));
      // Checked behind the reads of the caller's signal, whose getters may close the client.
      if (this.#isClosed) return call.reject(closed());
      if (this.#loss !== undefined) {
        call.reject(this.#loss);
        this.#loss = undefined;
        return;
      }
      if (this.#waiting.length === 0 && this.#readAhead(call, bytes, length)) return;
      const number = this.#idle.pop();
      if (number !== undefined) {
        if (!this.#send(number, call, bytes, length)) this.free(number);
        return;
      }
      this.#waiting.push(call.keep(bytes, length));
      this.#openForWaiting();
    });
  }

  /** Closes the connections. Calls under way are rejected with `BB_CLOSED`. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const calls = [...this.#connections].flatMap((number) => {
      const reads = this.#loop.takeAhead(number);
      return [this.#loop.remove(number).call, ...reads];
    });
    this.#connections.clear();
    calls.push(...this.#waiting.splice(0));
    for (const call of calls) call?.reject(new BoundaryError('BB_CLOSED', 'the client was closed'));
  }

  /**
   * Gives a connection without a call the next one that can be sent: a call that is refused leaves it to the call behind. Plain reads go
   * together. `done`: the call that was answered.
   */
  free(number: number, done?: Call): void {
    if (done?.read !== undefined) {
      const took = done.milliseconds;
      this.#shortestMs = Math.min(this.#shortestMs, took);
      done.read.isFast = took <= 2 * this.#shortestMs + SLOW_MS;
    }
    while (this.#connections.has(number)) {
      const next = this.#waiting[0];
      if (next?.read !== undefined && this.#readOn(number, next, next.submission!, next.submission!.length)) {
        this.#waiting.shift();
        continue;
      }
      if (this.#reading.has(number)) return;
      if (next === undefined) {
        this.#idle.push(number);
        return;
      }
      this.#waiting.shift();
      if (this.#send(number, next, next.submission!, next.submission!.length)) return;
    }
  }

  /** Counts a plain read that was answered. */
  readIsOver({ connection, read, milliseconds }: Call): void {
    if (milliseconds > 2 * this.#shortestMs + SLOW_AHEAD_MS) read!.isFast = false;
    const left = this.#reading.get(connection!)! - 1;
    if (left > 0) this.#reading.set(connection!, left);
    else {
      this.#reading.delete(connection!);
      this.free(connection!);
    }
  }

  /** Sends a plain read behind the fewest others, or on an idle connection. Returns false if it can't be sent so. */
  #readAhead(call: Call, bytes: Uint8Array, length: number): boolean {
    if (call.read?.isFast !== true) return false;
    const idle = this.#idle.at(-1);
    const reading = [...this.#reading].toSorted(([, some], [, others]) => some - others);
    const shared = reading.filter(([, reads]) => reads < (idle === undefined ? MOST_AHEAD : MANY_AHEAD));
    for (const [number] of shared) if (this.#readOn(number, call, bytes, length)) return true;
    if (idle === undefined || !this.#readOn(idle, call, bytes, length)) return false;
    this.#idle.pop();
    return true;
  }

  #readOn(number: number, call: Call, bytes: Uint8Array, length: number): boolean {
    const reads = this.#reading.get(number) ?? 0;
    if (call.read?.isFast !== true || reads >= MOST_AHEAD) return false;
    try {
      if (!this.#loop.readAhead(number, call, bytes, length)) return false;
    } catch {
      // `submit` meets the same, and tells it.
      return false;
    }
    this.#reading.set(number, reads + 1);
    return true;
  }

  /**
   * Removes a lost connection. `loss`: the error for the calls that rely on its session, if that was changed. `flags` say what is known of the
   * loss. Calls that wait for the only connection were made for that session. Several connections have no session that a caller could rely on,
   * but an open transaction must not go on in another one.
   */
  gone(number: number, loss?: BoundaryError, flags = 0): void {
    this.#forget(number);
    const isUntold = (flags & LOST_UNTOLD) !== 0;
    if (loss !== undefined && this.#most === 1) {
      const waiting = this.#waiting.splice(0);
      for (const call of waiting) call.reject(loss);
      if (isUntold && waiting.length === 0) this.#loss = loss;
    } else if (loss !== undefined && isUntold && (flags & LOST_TRANSACTION) !== 0) this.#loss = loss;
    this.#openForWaiting();
  }

  /** Sends a call. Returns false if it was not sent, and the connection, if it is still one, has none. */
  #send(number: number, call: Call, bytes: Uint8Array, length: number): boolean {
    try {
      this.#loop.submit(number, call, bytes, length);
      return true;
    } catch (thrown) {
      const error = toBoundaryError(thrown);
      if (error.code === 'BB_INVALID_ARGUMENT') {
        call.reject(error);
        return false;
      }
      // The fault is the connection's, which can take no call any more. Another connection may.
      const { loss } = this.#loop.remove(number);
      if (error.code === 'BB_CLOSED' && !this.#isClosed) this.#waiting.unshift(call.keep(bytes, length));
      else call.reject(error);
      this.gone(number, loss);
      const other = this.#idle.pop();
      if (other !== undefined) this.free(other);
      return false;
    }
  }

  #giveUp(call: Call, error: BoundaryError): void {
    const wasSent = call.connection !== undefined;
    if (call.connection === undefined) {
      const place = this.#waiting.indexOf(call);
      if (place !== -1) this.#waiting.splice(place, 1);
    } else {
      this.gone(call.connection, this.#loop.remove(call.connection).loss);
    }
    call.reject(withOutcome(error, wasSent ? 'unknown' : 'not executed'));
  }

  #forget(number: number): void {
    this.#connections.delete(number);
    this.#reading.delete(number);
    const place = this.#idle.indexOf(number);
    if (place !== -1) this.#idle.splice(place, 1);
  }

  /** Opens connections while calls wait for them, up to the limit. */
  #openForWaiting(): void {
    while (
      !this.#isClosed &&
      this.#waiting.length > this.#opening &&
      this.#connections.size + this.#opening < this.#most
    ) {
      this.#open().catch((error: BoundaryError) => {
        // Rejects the waiting calls if no other connection can serve them.
        if (this.#connections.size + this.#opening === 0)
          for (const call of this.#waiting.splice(0)) call.reject(error);
      });
    }
  }

  async #open(): Promise<void> {
    this.#opening += 1;
    try {
      const { number, version } = await connecting(this.#loop.connect(this.#url, this), this.#connectMs, (late) => {
        this.#loop.remove(late.number);
      });
      this.#version = version;
      if (this.#isClosed) {
        this.#loop.remove(number);
        return;
      }
      this.#connections.add(number);
      this.free(number);
    } catch (thrown) {
      throw toBoundaryError(thrown);
    } finally {
      this.#opening -= 1;
    }
  }
}

function closed(): BoundaryError {
  return new BoundaryError('BB_CLOSED', 'the client is closed');
}
