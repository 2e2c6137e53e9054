/** Threads that are terminated, and processes that end, in the middle of native work. */
import { expect, test } from 'vitest';

import { endingOf, resultOf } from './run-script.js';

test.each([
  'next',
  'waitingNext',
  'naiveNext',
  'query',
  'queryNaive',
  'queryToArrow',
  'execute',
  'prepared',
  'statements',
  'insert',
  'naiveInsert',
  'inserts',
  'tables',
  'opens',
])('threads terminated in the middle of %s take their work with them, and nothing else', async (work) => {
  expect(await resultOf('terminate.mjs', [work, '8'])).toEqual({ stored: 1 << 20, left: [] });
});

test('threads terminated while they load the addons do not end the process', async () => {
  expect(await resultOf('load.mjs', ['100'])).toBe(100);
});

test.each([
  ['exit', 7],
  ['throw', 1],
])('a process that ends by %s with work under way does not crash', async (how, code) => {
  for (const delay of ['0', '5', '20', '60']) {
    const { stderr, ...ending } = await endingOf('exit.mjs', [how, delay]);
    expect(ending, stderr).toEqual({ code, signal: null, stdout: '' });
  }
});

test('work under way is not collected with the objects that began it, and what is dropped is', async () => {
  expect(await resultOf('collect.mjs', [], { flags: ['--expose-gc'] })).toEqual({
    counted: true,
    ipc: true,
    inserted: 1 << 20,
    prepared: true,
    rssBelowGiB: true,
  });
});

test.each(['arrow', 'small', 'a prepared statement', 'columns', 'http', 'http2', 'stream', 'kv', 'shards', 'json'])(
  'the memory of a result that is alive when its thread ends is used again (%s)',
  async (kind) => {
    expect(await resultOf('thread-ends.mjs', [kind])).toBe(true);
  },
);
