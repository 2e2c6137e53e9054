/** Functions made from source text, for loops that are specialised to a schema. */

/** The most compiled functions kept. The oldest is dropped beyond that, since there may be any number of different queries. */
const MOST_KEPT = 200;

const kept = new Map<string, Function>();

/** Tables with more columns are read and written by loops over the columns, since generated functions have limits too. */
export const MOST_GENERATED_COLUMNS = 256;

/** Whether this process may make functions from text; false under `--disallow-code-generation-from-strings`. */
export const canGenerateCode: boolean = (() => {
  try {
    return new Function('return true')() === true;
  } catch {
    return false;
  }
})();

/** The source of a key of an object literal. `"__proto__": value` would set the object's prototype. */
export function literalKey(name: string): string {
  return name === '__proto__' ? '["__proto__"]' : JSON.stringify(name);
}

/** The function with these parameters and this body. The same text gives the same function, which keeps V8's optimised code. */
export function generateFunction<F extends Function>(parameters: readonly string[], body: string): F {
  const key = `${parameters.join()}\n${body}`;
  let made = kept.get(key);
  if (made === undefined) {
    made = new Function(...parameters, `'use strict';\n${body}`);
  } else {
    kept.delete(key);
  }
  kept.set(key, made);
  if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value!);
  return made as F;
}
