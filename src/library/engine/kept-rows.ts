import { getHeapSpaceStatistics } from 'node:v8';

/** The bytes in V8's old generation; NaN if the runtime doesn't tell them. */
export function oldGenerationBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name: name }) => name === 'old_space')?.space_used_size ?? NaN;
}

/** Results of fewer rows show too little of where V8 allocates them. */
const TELLING_ROWS = 16_384;

/** The fewest bytes that a row takes. */
const LEAST_ROW_BYTES = 16;

/** The results in the young generation after which a function has missed its lesson. One that learns has two or three. */
const MOST_YOUNG_RESULTS = 4;

/** The most functions that one query remakes. */
const MOST_REPETITIONS = 4;

/** How many functions were remade instead of the first function of their source. */
const madeAnew = new WeakMap<Function, number>();

/**
 * A function that makes rows which are all kept, in a form that V8 allocates in its old generation.
 *
 * V8 copies what survives twice before it reaches the old generation, unless it has learnt to allocate it there. It learns that for
 * a place in the source, from objects that unoptimised code has allocated there, once the young generation has its full size. A
 * collection of the old generation forgets those objects. A function that was optimised before V8 had learnt stays slow for good,
 * which happened to about half of all processes. So if its rows are seen to lie in the young generation, the function is remade
 * from another text: functions of one text share V8's knowledge of them. `node --trace-pretenuring`, with
 * `--trace-pretenuring-statistics`, shows what V8 learns.
 */
export class KeptRows<F extends (...given: never[]) => readonly unknown[]> {
  readonly #make: (directive: string) => F;
  readonly #oldBytes: () => number;
  readonly #first: F;
  #function: F;
  #youngResults = 0;
  #repetitions = 0;

  /** `make` gives the function whose source begins with a directive, the same one for the same directive. */
  constructor(make: (directive: string) => F, oldBytes = oldGenerationBytes) {
    this.#make = make;
    this.#oldBytes = oldBytes;
    this.#first = make(directiveOf(0));
    this.#function = make(directiveOf(madeAnew.get(this.#first) ?? 0));
  }

  /** Calls the function, and looks where its result lies. */
  call(...given: Parameters<F>): ReturnType<F> {
    if (this.#youngResults >= MOST_YOUNG_RESULTS && this.#repetitions < MOST_REPETITIONS) this.#makeAnew();
    const before = this.#oldBytes();
    const rows = this.#function(...given) as ReturnType<F>;
    if (rows.length >= TELLING_ROWS && this.#oldBytes() - before < rows.length * LEAST_ROW_BYTES) this.#youngResults++;
    return rows;
  }

  #makeAnew(): void {
    const count = (madeAnew.get(this.#first) ?? 0) + 1;
    madeAnew.set(this.#first, count);
    this.#function = this.#make(directiveOf(count));
    this.#youngResults = 0;
    this.#repetitions++;
  }
}

function directiveOf(count: number): string {
  return `'rows are kept, ${count}';\n`;
}
