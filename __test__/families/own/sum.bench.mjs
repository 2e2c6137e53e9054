/** A workload of the tests: the sum of numbers by several ways, one of which is a program in Python if Python is there. */
import { execFileSync } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { devNull } from 'node:os';
import { fileURLToPath } from 'node:url';

import { program, workload } from '../../../dist/bench.js';

const PROGRAM = fileURLToPath(new URL('sum.py', import.meta.url));

function hasPython() {
  try {
    execFileSync('python3', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

const plain = (numbers) => {
  let sum = 0;
  for (let index = 0; index < numbers.length; index += 1) sum += numbers[index];
  return sum;
};

/** The same, twice as often. */
const twice = (numbers) => plain(numbers) + plain(numbers) - plain(numbers);

export default workload('sum', {
  sizes: [100, 10_000],
  input: (size) => Float64Array.from({ length: size }, (_, index) => index / 7),
  ways: {
    js: plain,
    'js, thrice': twice,
    'js, later': async (numbers) => plain(numbers),
    // As an addon that times itself.
    'rust, timed': {
      timed: (numbers, repeats) => {
        const start = performance.now();
        for (let repeat = 0; repeat < repeats; repeat += 1) plain(numbers);
        return (performance.now() - start) / 1000;
      },
      run: plain,
    },
    ...(hasPython() && {
      'native, Python': program('python3', [PROGRAM]),
      'native, Python by bytes': program('python3', [PROGRAM], { bytes: (numbers) => numbers }),
    }),
  },
  noop: { 'js, later': async () => {} },
});

export const wrong = workload('wrong', {
  input: () => 3,
  ways: {
    js: (value) => value + 1,
    'js, other': (value) => value + 2,
    'js, nothing': () => {},
    'js, throws': () => {
      throw new Error('no such thing');
    },
    'rust, milliseconds': { timed: () => 1000, run: (value) => value + 1 },
    'rust, no bytes': program('true', [], { bytes: (value) => value }),
  },
});

const text = JSON.stringify(Array.from({ length: 2000 }, (_, index) => index * 1.5));
const parse = () => JSON.parse(text);

class Lazy {
  *[Symbol.iterator]() {
    yield* parse();
  }
}

/** Ways whose results are computed when they are read. */
export const lazy = workload('lazy', {
  ways: {
    js: parse,
    'js, generator': () => new Lazy()[Symbol.iterator](),
    'js, proxy': () => {
      let values;
      return new Proxy([], { get: (_, key) => Reflect.get((values ??= parse()), key) });
    },
    'js, getter': () => ({
      get values() {
        return parse();
      },
    }),
    'js, later': async () => new Lazy(),
    'js, opaque': () => new WeakSet(),
  },
  check: () => true,
});

export const read = workload('read', {
  read: (values) => {
    let sum = 0;
    for (const value of values) sum += value;
    return sum;
  },
  ways: {
    js: parse,
    'js, iterator': () => new Lazy(),
    'js, wrong': () => [1, 2],
    'rust, timed': {
      timed: (_, repeats) => {
        const start = performance.now();
        for (let repeat = 0; repeat < repeats; repeat += 1) parse();
        return (performance.now() - start) / 1000;
      },
      run: () => new Set(parse()),
    },
  },
});

const sort = (values, compare) => values.sort(compare); // oxlint-disable-line unicorn/no-array-sort -- it is to change them

/** Ways of which all but the first change their input. */
export const changes = workload('changes', {
  input: () => ({ numbers: Float64Array.of(3, 1, 2), rows: [{ id: 2 }, { id: 1 }], compare: (a, b) => a.id - b.id }),
  ways: {
    js: ({ numbers }) => numbers.toSorted(),
    'js, in place': ({ numbers }) => sort(numbers),
    'js, of objects': ({ numbers, rows, compare }) => {
      sort(rows, compare);
      return numbers.toSorted();
    },
    'rust, timed': { timed: () => 0, run: ({ numbers }) => sort(numbers) },
    'rust, timed alone': { timed: ({ numbers }) => sort(numbers).indexOf(1), run: ({ numbers }) => numbers.toSorted() },
  },
});

const shuffled = (length) => Float64Array.from({ length }, (_, index) => (index * 7919) % length);
const firstOf = (numbers) => {
  // An input that was used before is sorted.
  if (numbers[1] === 1) throw new Error('the input was used before');
  return [sort(numbers)[1]];
};

export const fresh = workload('fresh', {
  fresh: true,
  input: () => shuffled(101),
  ways: {
    js: firstOf,
    'js later': async (numbers) => firstOf(numbers),
    'js lazy': function* (numbers) {
      yield* firstOf(numbers);
    },
    'js wrong': (numbers) => [firstOf(numbers)[0] + 1],
  },
});

const step = (name) => () => appendFileSync(process.env['BB_TEST_STEPS'] ?? devNull, `${name} ${process.pid}\n`);

export const named = workload('named', {
  inputs: { made: () => shuffled(100), value: shuffled(1000) },
  setup: step('setup'),
  teardown: step('teardown'),
  ways: { js: (numbers) => numbers.at(-1), 'js, twice': (numbers) => (numbers.at(-1), numbers.at(-1)) },
});
