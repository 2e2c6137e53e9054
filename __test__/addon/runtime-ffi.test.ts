/** The functions that the addon exports by the calling convention of C, called by what the runtime itself has for such functions. */
import { isBuiltin } from 'node:module';
import { expect, it } from 'vitest';

import { resultOf } from './run-script.js';
import { installed, isMissing } from './runtimes.js';

/** The codes of the last characters of texts. */
const LAST = Array.from('cäz\0äb', (character) => character.charCodeAt(0));

const ANSWERS = [-0.5, '9007199254740993', ...LAST, 256, 0, 15, 4];

it('returns what was passed in this Node, or says that it has no such functions', async () => {
  expect(await resultOf('runtime-ffi.mjs')).toEqual(isBuiltin('node:ffi') ? ANSWERS : 'BB_UNSUPPORTED');
});

it.skipIf(isMissing('bun'))('returns what was passed in Bun', async () => {
  expect(await resultOf('runtime-ffi.mjs', [], installed('bun'))).toEqual(ANSWERS);
});
