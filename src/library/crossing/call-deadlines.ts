/** A call in a list of calls that are given up when they take too long. */
export abstract class DeadlineCall {
  /** @internal The tick in which it is overdue; undefined of a call in no list. */
  dueTick: number | undefined;
  /** @internal */
  earlier: DeadlineCall | undefined;
  /** @internal */
  later: DeadlineCall | undefined;

  /** Gives it up: its time is over. */
  abstract expire(): void;
}

const TICKS = 30;

/**
 * Calls under way that all have the same time, in the order in which they were sent, which is that in which they are overdue. One
 * timer serves all of them, since one for each would cost a tenth of a small request; so a call may take a thirtieth longer.
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
    // The tick under way counts as none.
    call.dueTick = this.#tick + TICKS + 1;
    call.earlier = this.#last;
    if (this.#last === undefined) this.#first = call;
    else this.#last.later = call;
    this.#last = call;
    // What is under way keeps the process alive by itself.
    this.#timer ??= setInterval(() => this.#onTick(), this.#tickMs).unref();
  }

  /** Takes a call out; does nothing with one that is in no list. */
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
