/** Calls of a function that are timed together, none of which a compiler may leave out. */

/** The results of the last two calls, so that none is a result which nobody looks at. */
const kept: { results: unknown[] } = { results: [] };

/**
 * Calls a function `repeats` times, and returns its last result. The room for results is made of the first: V8 makes an
 * object of each fraction that it stores among any values, and none among numbers alone.
 */
export function called<Input>(run: (input: Input) => unknown, input: Input, repeats: number): unknown {
  const first = run(input);
  const results = (kept.results = [first, first]);
  for (let repeat = 1; repeat < repeats; repeat += 1) results[repeat & 1] = run(input);
  return results[(repeats - 1) & 1];
}

/** The same of a function that returns promises, one after the other. */
export async function calledLater<Input>(
  run: (input: Input) => unknown,
  input: Input,
  repeats: number,
): Promise<unknown> {
  const first = await run(input);
  const results = (kept.results = [first, first]);
  for (let repeat = 1; repeat < repeats; repeat += 1) results[repeat & 1] = await run(input);
  return results[(repeats - 1) & 1];
}

/** Calls a function with each of the inputs, of which there is at least one, and returns its last result. */
export function calledWithEach<Input>(run: (input: Input) => unknown, inputs: readonly Input[]): unknown {
  const first = run(inputs[0]!);
  const results = (kept.results = [first, first]);
  for (let at = 1; at < inputs.length; at += 1) results[at & 1] = run(inputs[at]!);
  return results[(inputs.length - 1) & 1];
}

/** The same of a function that returns promises, one after the other. */
export async function calledWithEachLater<Input>(
  run: (input: Input) => unknown,
  inputs: readonly Input[],
): Promise<unknown> {
  const first = await run(inputs[0]!);
  const results = (kept.results = [first, first]);
  for (let at = 1; at < inputs.length; at += 1) results[at & 1] = await run(inputs[at]!);
  return results[(inputs.length - 1) & 1];
}

/** Lets go of the last results. */
export function forgetResults(): void {
  kept.results = [];
}

/** Whether a function returned a promise, also one of another library. */
export function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as PromiseLike<unknown>).then === 'function';
}
