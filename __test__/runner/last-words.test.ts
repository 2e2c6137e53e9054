import { expect, test } from 'vitest';

import { lastWords } from '../../src/runner/fork.js';

test('of a panic in Rust, its place and its text are kept', () => {
  const output = `a warning
thread '<unnamed>' panicked at src/lib.rs:12:5:
index out of bounds: the len is 3 but the index is 7
note: run with \`RUST_BACKTRACE=1\` environment variable to display a backtrace
`;
  expect(lastWords(output)).toBe(
    ": thread '<unnamed>' panicked at src/lib.rs:12:5: index out of bounds: the len is 3 but the index is 7",
  );
});

test('of another end, the last line', () => {
  expect(lastWords('first\nlast\n')).toBe(': last');
  expect(lastWords('')).toBe('');
});
