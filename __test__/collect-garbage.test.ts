import { setImmediate as nextTurn } from 'node:timers/promises';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { exposeCollector } from '../src/collect-garbage.js';

it('collects at once what nobody holds, and leaves no flag of V8 behind', async () => {
  const collect = exposeCollector()!;
  const dropped = new WeakRef({});
  // A WeakRef keeps its object alive during the turn of the event loop in which it is made.
  await nextTurn();
  expect(dropped.deref()).toEqual({});
  await nextTurn();
  collect('all');
  expect(dropped.deref()).toBe(undefined);
  expect(runInNewContext('typeof gc')).toBe('undefined');
});
