/** Memory of frames that JavaScript can still read is never reused, whatever was done to the frames. */
import { expect, test } from 'vitest';

import { resultOf } from './run-script.js';

test('a frame stays as it is for all who can read it, and its memory comes back', async () => {
  const outcomes = (await resultOf('frames.mjs', [], { flags: ['--expose-gc'] })) as Record<string, boolean>;
  expect(Object.keys(outcomes).length).toBeGreaterThan(0);
  expect(Object.entries(outcomes).filter(([, isSound]) => !isSound)).toEqual([]);
});
