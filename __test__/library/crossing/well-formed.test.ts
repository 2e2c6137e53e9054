import { constants } from 'node:buffer';
import { expect, test } from 'vitest';

import { JsonPaths } from '../../../src/index.js';
import { checkText, decodeText, MOST_DECODED_TOGETHER } from '../../../src/library/crossing/well-formed.js';

test.each(['utf8', 'latin1'] as const)('%s of more than the longest string is an error that says so', (encoding) => {
  const bytes = Buffer.alloc(constants.MAX_STRING_LENGTH + 1);
  expect(() => decodeText(bytes, encoding, 0, bytes.length)).toThrow(
    expect.objectContaining({ name: 'BoundaryError', code: 'BB_TOO_LARGE', hint: 'Read it as bytes' }),
  );
  expect(decodeText(bytes, encoding, 5, 8)).toBe('\0\0\0');
});

test('several texts are read one by one if all of them would make a very long one', () => {
  const long = 'x'.repeat(MOST_DECODED_TOGETHER - 10);
  const [values] = new JsonPaths('*').pick(Buffer.from(JSON.stringify(['first', long, 'é', 'last'])));
  expect([values!.text(0), values!.text(1)!.length, values!.text(2), values!.text(3)]).toEqual([
    'first',
    long.length,
    'é',
    'last',
  ]);
  const [ascii] = new JsonPaths('*').pick(Buffer.from(JSON.stringify(['first', long, 'seconds', 'last'])));
  expect([ascii!.text(0), ascii!.text(2), ascii!.text(3)]).toEqual(['first', 'seconds', 'last']);
});

test('a text is named in its error, and not quoted', () => {
  expect(() => checkText('the URL', 'redis://:secret\ud800@host')).toThrow(
    expect.objectContaining({
      code: 'BB_INVALID_ARGUMENT',
      message: 'the URL has a lone surrogate, which UTF-8 cannot hold',
    }),
  );
  expect(() => checkText('the URL', 5)).toThrow('the URL must be a string, not 5');
});
