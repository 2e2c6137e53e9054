/** Functions of different length, as workloads of the user. bench/lab/mitata.mjs measures them by this package and by mitata. */
import { workload } from '../../dist/bench.js';

const text = JSON.stringify(
  Array.from({ length: 20 }, (_, index) => ({ id: index, name: `name ${index}`, score: index / 3 })),
);
const few = Float64Array.from({ length: 64 }, (_, index) => index / 7);
const many = Float64Array.from({ length: 1_000_000 }, (_, index) => index / 7);
const unsorted = Float64Array.from({ length: 1000 }, (_, index) => (index * 7919) % 1009);

function sum(numbers) {
  let total = 0;
  for (let index = 0; index < numbers.length; index += 1) total += numbers[index];
  return total;
}

function levenshtein(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      next[j] = Math.min(next[j - 1] + 1, row[j] + 1, row[j - 1] + cost);
    }
    row = next;
  }
  return row[b.length];
}

/** The functions, each of which does its work once and returns its result. */
export const FUNCTIONS = {
  'sum of 64': () => sum(few),
  levenshtein: () => levenshtein('kitten sitting', 'sitting kitten'),
  'JSON.parse': () => JSON.parse(text),
  sort: () => unsorted.toSorted(),
  'sum of a million': () => sum(many),
};

export const workloads = Object.entries(FUNCTIONS).map(([name, work]) => workload(name, { ways: { js: work } }));
