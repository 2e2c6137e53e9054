import { addon, type Cancel, type HttpLoop, type HttpOrigin } from '../../addon.js';
import { BoundaryError, toBoundaryError } from '../../errors.js';
import { timedOut } from '../crossing/cancellation.js';
import { CallDeadlines, DeadlineCall } from '../crossing/call-deadlines.js';
import { connecting } from '../crossing/connecting.js';
import { DeliveredFrames, GONE } from '../crossing/result-frame.js';
import { HttpFrame, HttpResponse, HttpResponses } from './http-responses.js';
import { HttpSubmissionWriter, type ReadHttpRequest } from './http-submission.js';

/** Bytes of a submission above which it is sent before the end of the turn: the server begins while more is written. */
const FLUSHED_BYTES = 1 << 13;

/** The time-out in milliseconds of a call, or of a piece of a stream, without its own: undici's default. */
export const DEFAULT_TIMEOUT_MS = 300_000;

/** The calls of this thread with the default time-out. */
const deadlines = new CallDeadlines(DEFAULT_TIMEOUT_MS);

/** A call that waits for its responses. */
export class HttpCall extends DeadlineCall {
  /** The number of requests in the call. */
  readonly count: number;
  /** The id by which the transport knows the call. */
  id = -1;
  readonly #isMany: boolean;
  readonly #resolve: (value: HttpResponse | HttpResponses) => void;
  readonly #reject: (error: BoundaryError) => void;
  #transport: HttpTransport | undefined;
  #isOver = false;

  constructor(
    count: number,
    isMany: boolean,
    resolve: (value: HttpResponse | HttpResponses) => void,
    reject: (error: BoundaryError) => void,
  ) {
    super();
    this.count = count;
    this.#isMany = isMany;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  /** Applies the default time-out to a call that was sent. */
  limit(transport: HttpTransport): void {
    if (this.#isOver) return;
    this.#transport = transport;
    deadlines.add(this);
  }

  override expire(): void {
    this.fail(timedOut(DEFAULT_TIMEOUT_MS, 'the work', 'unknown'));
    this.#transport?.cancel(this);
  }

  complete(frame: HttpFrame, word: number): void {
    this.#end();
    try {
      this.#resolve(this.#isMany ? new HttpResponses(frame, word) : new HttpResponse(frame, word, 0));
    } catch (thrown) {
      this.fail(toBoundaryError(thrown));
    }
  }

  fail(error: BoundaryError): void {
    this.#end();
    this.#reject(error);
  }

  #end(): void {
    this.#isOver = true;
    deadlines.delete(this);
  }
}

/** The transport of the calls of one client. */
export interface HttpTransport {
  /** Connects once, to check that the server responds. */
  connect(): Promise<void>;
  /** Sends the requests of a call. Throws if they are too big, or the memory of a body is detached. */
  send(call: HttpCall, requests: readonly ReadHttpRequest[]): void;
  /** Drops a call, whose responses are not waited for any more. */
  cancel(call: HttpCall): void;
  /** Closes the connections: calls under way fail. */
  close(): void;
}

/** The sockets driven by this thread's event loop: one submission per turn for all of them, one frame per iteration. */
class DrivenSockets {
  readonly raw: HttpLoop;
  readonly #writer = new HttpSubmissionWriter();
  /** The calls, and the pool of each call, by the ids of the calls. */
  readonly #calls: (HttpCall | undefined)[] = [];
  readonly #owners: (DrivenPool | undefined)[] = [];
  readonly #free: number[] = [];
  readonly #pools = new Map<number, DrivenPool>();
  #isScheduled = false;
  readonly #frames = new DeliveredFrames((buffer) => new HttpFrame(buffer));
  readonly #flush = (): void => {
    this.#isScheduled = false;
    this.submit();
  };

  constructor() {
    this.raw = new addon.HttpLoop((buffer, start, end) => this.#deliver(buffer, start, end));
  }

  stage(pool: DrivenPool, call: HttpCall, requests: readonly ReadHttpRequest[]): void {
    const id = this.#free.pop() ?? this.#calls.length;
    try {
      this.#writer.add(pool.number, id, requests);
    } catch (thrown) {
      this.#free.push(id);
      throw thrown;
    }
    call.id = id;
    this.#calls[id] = call;
    this.#owners[id] = pool;
    if (this.#writer.length >= FLUSHED_BYTES) this.submit();
    else if (!this.#isScheduled) {
      this.#isScheduled = true;
      // After all promise callbacks of this turn.
      process.nextTick(this.#flush);
    }
  }

  /** Passes the staged requests to the addon. */
  submit(): void {
    const { bytes, length } = this.#writer;
    if (length === 0) return;
    this.#writer.clear();
    this.take(this.raw.submit(bytes, length));
  }

  cancel(call: HttpCall): void {
    if (this.#calls[call.id] !== call) return;
    this.submit();
    // The submission may have delivered the result.
    if (this.#calls[call.id] !== call) return;
    this.#forget(call.id);
    this.take(this.raw.cancel(call.id));
  }

  add(pool: DrivenPool, connection: number): void {
    this.#pools.set(connection, pool);
  }

  /** Delivers a frame that the addon returned. */
  take(frame: ArrayBuffer | undefined): void {
    if (frame !== undefined) this.#deliver(frame, 0, frame.byteLength);
  }

  #forget(id: number): HttpCall | undefined {
    const call = this.#calls[id];
    // A call that was just cancelled may still have a result that waited for the end of the turn: its number is free only once.
    if (call === undefined) return undefined;
    this.#owners[id]?.isOver(call.count);
    this.#calls[id] = undefined;
    this.#owners[id] = undefined;
    this.#free.push(id);
    return call;
  }

  #deliver(buffer: ArrayBuffer, start: number, end: number): void {
    const frame = this.#frames.of(buffer, start, end);
    const { words } = frame;
    for (let word = start / 4; word < end / 4; word = frame.next(word)) {
      const id = words[word]!;
      if (words[word + 1] !== GONE) this.#forget(id)?.complete(frame, word);
      else {
        const pool = this.#pools.get(id);
        this.#pools.delete(id);
        pool?.hasLost();
      }
    }
  }
}

let driven: DrivenSockets | undefined;

/** The connections of one client on the event loop, opened on demand. */
class DrivenPool implements HttpTransport {
  readonly number: number;
  readonly #sockets: DrivenSockets;
  readonly #place: HttpOrigin;
  readonly #connections: number;
  readonly #connectMs: number;
  /** The most connections to open: fewer for a while if the server refuses one. */
  #most: number;
  #open = 0;
  #opening = 0;
  #inFlight = 0;
  #isClosed = false;

  constructor(place: HttpOrigin, connections: number, connectMs: number) {
    this.#sockets = driven ??= new DrivenSockets();
    this.#place = place;
    this.#connections = connections;
    this.#connectMs = connectMs;
    this.#most = connections;
    this.number = this.#sockets.raw.addPool(place);
  }

  async connect(): Promise<void> {
    const socket = await this.#connected();
    if (this.#isClosed) socket.close();
    else this.#add(socket);
  }

  send(call: HttpCall, requests: readonly ReadHttpRequest[]): void {
    this.#sockets.stage(this, call, requests);
    this.#inFlight += call.count;
    this.#grow();
  }

  cancel(call: HttpCall): void {
    this.#sockets.cancel(call);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#sockets.submit();
    this.#sockets.take(this.#sockets.raw.removePool(this.number));
  }

  /** Counts requests that are over. */
  isOver(count: number): void {
    this.#inFlight -= count;
  }

  /** Removes a lost connection. */
  hasLost(): void {
    this.#open -= 1;
    this.#most = this.#connections;
    this.#grow();
  }

  /** Opens connections while there are fewer than requests under way. */
  #grow(): void {
    const wanted = Math.min(this.#most, this.#inFlight);
    while (!this.#isClosed && this.#open + this.#opening < wanted) void this.#openOne();
  }

  async #openOne(): Promise<void> {
    this.#opening += 1;
    try {
      const socket = await this.#connected();
      this.#opening -= 1;
      if (this.#isClosed) socket.close();
      else this.#add(socket);
    } catch (thrown) {
      this.#opening -= 1;
      if (this.#open > 0) {
        this.#most = this.#open;
        // Requests that a lost connection left behind.
        if (!this.#isClosed) this.#sockets.take(this.#sockets.raw.feed(this.number));
      }
      if (this.#open > 0 || this.#opening > 0 || this.#isClosed) return;
      const { code, message } = toBoundaryError(thrown);
      this.#sockets.submit();
      this.#sockets.take(this.#sockets.raw.failWaiting(this.number, code, message));
    }
  }

  #connected(): ReturnType<HttpOrigin['open']> {
    return connecting(this.#place.open(), this.#connectMs, (late) => late.close());
  }

  #add(socket: Awaited<ReturnType<HttpOrigin['open']>>): void {
    const connection = this.#sockets.raw.add(this.number, this.#place, socket);
    this.#open += 1;
    this.#sockets.add(this, connection);
  }
}

/** The transport of a client of HTTP/2, whose calls are tasks of the event loop that share one connection. */
class RemoteTransport implements HttpTransport {
  readonly #place: HttpOrigin;
  readonly #writer = new HttpSubmissionWriter();
  readonly #cancels = new Map<HttpCall, Cancel>();
  readonly #connectMs: number;
  #isClosed = false;

  constructor(place: HttpOrigin, connectMs: number) {
    this.#place = place;
    this.#connectMs = connectMs;
  }

  connect(): Promise<void> {
    return connecting(this.#place.connect(), this.#connectMs, () => {});
  }

  send(call: HttpCall, requests: readonly ReadHttpRequest[]): void {
    this.#writer.clear();
    this.#writer.add(0, 0, requests);
    // `#run` copies the submission before its first await.
    void this.#run(call);
  }

  cancel(call: HttpCall): void {
    this.#cancels.get(call)?.cancel();
  }

  close(): void {
    this.#isClosed = true;
    for (const cancel of this.#cancels.values()) cancel.cancel();
    this.#place.close();
  }

  async #run(call: HttpCall): Promise<void> {
    const cancel = new addon.Cancel();
    this.#cancels.set(call, cancel);
    try {
      const { bytes, length } = this.#writer;
      call.complete(new HttpFrame(await this.#place.run(bytes.subarray(0, length), cancel)), 0);
    } catch (thrown) {
      call.fail(this.#isClosed ? new BoundaryError('BB_CLOSED', 'the client is closed') : toBoundaryError(thrown));
    } finally {
      this.#cancels.delete(call);
    }
  }
}

/** The transport of calls to a server. */
export function openTransport(place: HttpOrigin, connections: number, connectMs: number): HttpTransport {
  return place.drivable ? new DrivenPool(place, connections, connectMs) : new RemoteTransport(place, connectMs);
}
