/** A call that a `CallDeadlines` list ends when its time-out passes. */
export abstract class DeadlineCall {
  /** @internal The tick at which the call has timed out; undefined while the call is in no list. */
  dueTick: number | undefined;
  /** @internal The previous call of the list, sent before this one. */
  earlier: DeadlineCall | undefined;
  /** @internal The next call of the list, sent after this one. */
  later: DeadlineCall | undefined;

  /** Rejects the call with a time-out. */
  abstract expire(): void;
}

const TICKS = 30;

/**
 * Calls under way that share one time-out, in the order in which they were sent, which is the order in which they time out. One
 * timer serves all calls, since a timer per call would show in the time of a small request. So a call may time out late, by a
 * thirtieth of its time-out.
 */
export class CallDeadlines {
  readonly #tickMs: number;
  #tick = 0;
  #timer: NodeJS.Timeout | undefined;
  #first: DeadlineCall | undefined;
  #last: DeadlineCall | undefined;

  constructor(timeoutMs: number) {
    this.#tickMs = Math.ceil(timeoutMs / TICKS);
  }

  add(call: DeadlineCall): void {
    // The tick under way is not counted.
    call.dueTick = this.#tick + TICKS + 1;
    call.earlier = this.#last;
    if (this.#last === undefined) this.#first = call;
    else this.#last.later = call;
    this.#last = call;
    // Calls under way keep the process alive by themselves.
    this.#timer ??= setInterval(() => this.#onTick(), this.#tickMs).unref();
  }

  /** Removes a call. Does nothing if the call is in no list. */
  delete(call: DeadlineCall): void {
    if (call.dueTick === undefined) return;
    call.dueTick = undefined;
    if (call.earlier === undefined) this.#first = call.later;
    else call.earlier.later = call.later;
    if (call.later === undefined) this.#last = call.earlier;
    else call.later.earlier = call.earlier;
    call.earlier = undefined;
    call.later = undefined;
  }

  #onTick(): void {
    this.#tick += 1;
    while (this.#first !== undefined && this.#first.dueTick! <= this.#tick) {
      const overdue = this.#first;
      this.delete(overdue);
      overdue.expire();
    }
    if (this.#first !== undefined) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
