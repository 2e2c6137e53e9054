import { expect, test } from 'vitest';

import { divideKeys, inOrder, slotOf } from '../../src/clients/cluster-keys.js';

test('slots are the same as the servers compute', () => {
  // The slots that CLUSTER KEYSLOT gives.
  expect(['123456789', 'foo', ''].map(slotOf)).toEqual([12_739, 12_182, 0]);
  expect(slotOf('{user1000}.following')).toBe(slotOf('user1000'));
  expect(slotOf('foo{{bar}}zap')).toBe(slotOf('{bar'));
  expect(slotOf('foo{}{bar}')).not.toBe(slotOf('bar'));
});

test('divided keys are asked for server by server, and their answers come in the order of the keys', () => {
  const keys = Array.from({ length: 200 }, (_, number) => `${number % 50}`);
  const divided = divideKeys(keys, (slot) => slot % 3);
  expect(divided).toHaveLength(3);
  for (const slots of divided) {
    const servers = slots.flat().map((position) => slotOf(keys[position]!) % 3);
    expect(new Set(servers).size).toBe(1);
    // All keys of a slot are together, since one MGET may have them.
    const all = slots.map((positions) => positions.map((position) => slotOf(keys[position]!)));
    expect(all.every((ofSlot) => new Set(ofSlot).size === 1)).toBe(true);
    expect(new Set(all.map(([slot]) => slot)).size).toBe(all.length);
  }
  const answers = divided.map((slots) => slots.flat().map((position) => `value ${keys[position]}`));
  expect(inOrder(divided, answers)).toEqual(keys.map((key) => `value ${key}`));
});
