// The functions that `workers.mjs` calls in threads. They import nothing, so that its times are the pool's own.
export function nothing() {}

export function lengthOf(values) {
  return values.length;
}

export function giveBack(values, { transfer }) {
  transfer(values.buffer);
  return values;
}
