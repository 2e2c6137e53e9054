// The functions that `workers.mjs` calls in threads. They import nothing, so that its times are those of the pool.
export function nothing() {}

export function lengthOf(values) {
  return values.length;
}

export function giveBack(values, { transfer }) {
  transfer(values.buffer);
  return values;
}
