/** Calls of a function that are timed together, none of which a compiler may leave out. */

/**
 * The results of the last two calls, so that none is a result which nobody looks at. V8 makes an object of a fraction that it stores in
 * an array of any values, and none if the array holds numbers alone.
 */
let kept: unknown[] = [undefined, undefined];

/** Makes room for results like this one. */
export function keepResultsLike(result: unknown): void {
  kept = [result, result];
}

/** Calls a function `repeats` times, and returns its last result. */
export function called<Input>(run: (input: Input) => unknown, input: Input, repeats: number): unknown {
  const results = kept;
  for (let repeat = 0; repeat < repeats; repeat += 1) results[repeat & 1] = run(input);
  return results[(repeats - 1) & 1];
}

/** The same of a function that returns promises, one after the other. */
export async function calledLater<Input>(
  run: (input: Input) => unknown,
  input: Input,
  repeats: number,
): Promise<unknown> {
  for (let repeat = 0; repeat < repeats; repeat += 1) kept[repeat & 1] = await run(input);
  return kept[(repeats - 1) & 1];
}

/** Lets go of the last results. */
export function forgetResults(): void {
  kept = [undefined, undefined];
}

/** Whether a function returned a promise, also one of another library. */
export function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as PromiseLike<unknown>).then === 'function';
}
