/** The memory through which two threads pass numbers, and wait for each other. */
export type SharedAddition = SharedArrayBuffer;

/** The bytes of the state, with room so that the numbers behind it are aligned. Two operands and their sum follow. */
const STATE_BYTES = 8;
const BYTES = STATE_BYTES + 3 * 8;

const IDLE = 0;
const ASKED = 1;
const CLOSED = 2;

/** An addition that one thread asks for and another one makes. */
export class SharedNumbers {
  readonly memory: SharedAddition;
  readonly #state: Int32Array;
  readonly #numbers: Float64Array;

  constructor(memory: SharedAddition = new SharedArrayBuffer(BYTES)) {
    this.memory = memory;
    this.#state = new Int32Array(memory, 0, 1);
    this.#numbers = new Float64Array(memory, STATE_BYTES);
  }

  /** The sum of two numbers, by the other thread. Blocks this thread. */
  add(left: number, right: number): number {
    const [state, numbers] = [this.#state, this.#numbers];
    numbers[0] = left;
    numbers[1] = right;
    Atomics.store(state, 0, ASKED);
    Atomics.notify(state, 0);
    // A wake-up may be one of the call before, which comes late.
    while (Atomics.load(state, 0) === ASKED) Atomics.wait(state, 0, ASKED);
    return numbers[2]!;
  }

  /** Adds what the other thread asks for, until it closes. */
  serve(): void {
    const [state, numbers] = [this.#state, this.#numbers];
    for (;;) {
      while (Atomics.load(state, 0) === IDLE) Atomics.wait(state, 0, IDLE);
      if (Atomics.load(state, 0) === CLOSED) return;
      numbers[2] = numbers[0]! + numbers[1]!;
      Atomics.store(state, 0, IDLE);
      Atomics.notify(state, 0);
    }
  }

  close(): void {
    Atomics.store(this.#state, 0, CLOSED);
    Atomics.notify(this.#state, 0);
  }
}
