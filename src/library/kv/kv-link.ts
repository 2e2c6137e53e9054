import { addon, type KvConnection, type KvLoop } from '../../addon.js';
import { type BoundaryError, toBoundaryError } from '../../errors.js';
import { connecting } from '../crossing/connecting.js';
import { ANSWERED, DeliveredFrames, GONE } from '../crossing/result-frame.js';
import { type KvData, type RequestKind, SubmissionWriter } from './kv-submission.js';
import { bytesOf, KvFrame, KvReplies, KvValues, OUTDATED, refusalOf, textOf } from './kv-values.js';

/** Bytes of a submission above which it is sent before the end of the turn: the server begins while more is written. */
const FLUSHED_BYTES = 1 << 12;

/** The form in which a call returns its reply. */
export type ReplyForm = 'bytes' | 'text' | 'nothing' | 'values' | 'replies';

/** A call that waits for its reply. */
export class KvCall {
  readonly #answer: ReplyForm;
  readonly #resolve: (value: unknown) => void;
  readonly #reject: (error: BoundaryError) => void;
  readonly link: KvLink;
  #isOver = false;

  constructor(
    answer: ReplyForm,
    link: KvLink,
    resolve: (value: unknown) => void,
    reject: (error: BoundaryError) => void,
  ) {
    this.#answer = answer;
    this.link = link;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Settles the call with its result. Does nothing if the call was ended before. */
  complete(frame: KvFrame, word: number): void {
    if (this.#isOver) return;
    try {
      const status = frame.words[word + 1];
      if (status !== ANSWERED) {
        if (status !== OUTDATED) throw frame.failure(word);
        this.link.onOutdated();
      }
      const value = this.#read(frame, word);
      this.#end();
      this.#resolve(value);
    } catch (thrown) {
      this.fail(toBoundaryError(thrown));
    }
  }

  fail(error: BoundaryError): void {
    if (this.#isOver) return;
    this.#end();
    this.#reject(error);
  }

  #read(frame: KvFrame, word: number): unknown {
    switch (this.#answer) {
      case 'bytes':
        return bytesOf(frame, word);
      case 'text':
        return textOf(frame, word);
      case 'nothing': {
        const refusal = refusalOf(frame, word);
        if (refusal !== undefined) throw refusal;
        return undefined;
      }
      case 'values': {
        const values = new KvValues(frame, word);
        const failure = values.failure();
        if (failure !== undefined) throw failure;
        return values;
      }
      case 'replies':
        return new KvReplies(frame, word);
    }
  }

  #end(): void {
    this.#isOver = true;
    this.link.callIsOver();
  }
}

/** The calls of this thread, by the ids of their requests. */
class Calls {
  readonly #calls: (KvCall | undefined)[] = [];
  readonly #free: number[] = [];

  add(call: KvCall): number {
    const id = this.#free.pop() ?? this.#calls.length;
    this.#calls[id] = call;
    return id;
  }

  delete(id: number): KvCall | undefined {
    const call = this.#calls[id];
    this.#calls[id] = undefined;
    this.#free.push(id);
    return call;
  }

  /** Delivers the results between two words of a frame to their calls. */
  deliver(frame: KvFrame, from: number, to: number, onGone: (connection: number) => void): void {
    const { words } = frame;
    for (let word = from; word < to; word = frame.next(word)) {
      if (words[word + 1] === GONE) onGone(words[word]!);
      else this.delete(words[word]!)?.complete(frame, word);
    }
  }
}

const calls = new Calls();

/** The connections driven by this thread's event loop: one submission per turn for all of them, one frame per iteration. */
class DrivenLinks {
  readonly #raw: KvLoop;
  readonly #writer = new SubmissionWriter();
  readonly #links = new Map<number, KvLink>();
  #isScheduled = false;
  readonly #frames = new DeliveredFrames((buffer) => new KvFrame(buffer));
  readonly #onGone = (connection: number): void => {
    this.#links.get(connection)?.retire();
    this.#links.delete(connection);
  };
  readonly #flush = (): void => {
    this.#isScheduled = false;
    this.flush();
  };

  constructor() {
    this.#raw = new addon.KvLoop((buffer, start, end) => this.#deliver(buffer, start, end));
  }

  add(connection: KvConnection): KvLink {
    const number = this.#raw.add(connection);
    const link = connection.drivable ? new KvLink(this, number) : new ClusterLink(this, number, connection);
    this.#links.set(number, link);
    return link;
  }

  stage(
    connection: number,
    id: number,
    kind: RequestKind,
    counts: readonly number[] | undefined,
    args: readonly KvData[],
  ): void {
    this.#writer.add(connection, id, kind, counts, args);
    if (this.#writer.length >= FLUSHED_BYTES) this.flush();
    else if (!this.#isScheduled) {
      this.#isScheduled = true;
      // After all promise callbacks of this turn.
      process.nextTick(this.#flush);
    }
  }

  remove(connection: number): void {
    if (!this.#links.has(connection)) return;
    // Requests staged for this connection must not reach the next connection of the same number.
    this.flush();
    const frame = this.#raw.remove(connection);
    if (frame !== undefined) this.#deliver(frame, 0, frame.byteLength);
  }

  /** Sends what is staged. */
  flush(): void {
    const { bytes, length } = this.#writer;
    if (length === 0) return;
    this.#writer.clear();
    const frame = this.#raw.submit(bytes, length);
    if (frame !== undefined) this.#deliver(frame, 0, frame.byteLength);
  }

  #deliver(buffer: ArrayBuffer, start: number, end: number): void {
    const frame = this.#frames.of(buffer, start, end);
    calls.deliver(frame, start / 4, end / 4, this.#onGone);
  }
}

/** A connection, or the connections of a cluster, with its calls under way. */
export class KvLink {
  protected readonly links: DrivenLinks;
  readonly #number: number;
  #isClosed = false;
  #callsUnderWay = 0;
  #isRetired = false;
  /** Called when the server says that it is not, or not now, the one to ask. */
  onOutdated: () => void = () => this.retire();

  constructor(links: DrivenLinks, number: number) {
    this.links = links;
    this.#number = number;
  }

  /** Whether the link takes no more calls. */
  get isOver(): boolean {
    return this.#isRetired;
  }

  get callsUnderWay(): number {
    return this.#callsUnderWay;
  }

  /**
   * Sends a request at the end of this turn of the event loop, with the other requests of the turn. The link must not be over.
   * Returns the id of the request.
   */
  send(call: KvCall, kind: RequestKind, counts: readonly number[] | undefined, args: readonly KvData[]): number {
    const id = calls.add(call);
    try {
      this.links.stage(this.#number, id, kind, counts, args);
    } catch (thrown) {
      calls.delete(id);
      throw thrown;
    }
    this.#callsUnderWay += 1;
    return id;
  }

  /** Ends what a request does whose call was given up. Its reply is still pending, and would delay the next calls on its connection. */
  giveUp(_id: number): void {
    this.retire();
  }

  callIsOver(): void {
    this.#callsUnderWay -= 1;
    if (this.#isRetired && this.#callsUnderWay === 0) this.close();
  }

  /** Takes no more calls, and closes when the calls under way are over. */
  retire(): void {
    if (this.#isRetired) return;
    this.#isRetired = true;
    if (this.#callsUnderWay === 0) this.close();
  }

  /** Closes the connection: calls under way fail. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.retire();
    this.links.remove(this.#number);
  }
}

/** The connections to a cluster. Each call ends when its own servers have answered it. */
class ClusterLink extends KvLink {
  readonly #raw: KvConnection;

  constructor(links: DrivenLinks, number: number, raw: KvConnection) {
    super(links, number);
    this.#raw = raw;
  }

  override giveUp(id: number): void {
    // The request may be staged still.
    this.links.flush();
    this.#raw.giveUp(id);
  }
}

let driven: DrivenLinks | undefined;

/** Connects to a server. */
export async function openLink(url: string, connectMs: number): Promise<KvLink> {
  const connection = await connecting(addon.KvConnection.open(url), connectMs, (late) => late.close());
  driven ??= new DrivenLinks();
  return driven.add(connection);
}
