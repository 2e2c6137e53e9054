import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { CallDeadlines, DeadlineCall } from '../../../src/library/crossing/call-deadlines.js';

class Noted extends DeadlineCall {
  /** The time at which the call was abandoned; `undefined` before. */
  expiredAt: number | undefined;

  override expire(): void {
    this.expiredAt = Date.now();
  }
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('calls are given up when their time is over, and no other', () => {
  const step = fc.record({ wait: fc.nat(9_000), ends: fc.array(fc.nat(40)) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const deadlines = new CallDeadlines(3_000);
      const calls: { readonly call: Noted; readonly sentAt: number; endedAt?: number }[] = [];
      for (const { wait, ends } of steps) {
        const call = new Noted();
        calls.push({ call, sentAt: Date.now() });
        deadlines.add(call);
        for (const end of ends) {
          const ended = calls[end];
          if (ended === undefined || ended.call.expiredAt !== undefined) continue;
          ended.endedAt ??= Date.now();
          deadlines.delete(ended.call);
        }
        vi.advanceTimersByTime(wait);
      }
      vi.advanceTimersByTime(3_200);
      expect(vi.getTimerCount()).toBe(0);
      for (const { call, sentAt, endedAt } of calls) {
        const hasLived = call.expiredAt === undefined ? undefined : call.expiredAt - sentAt;
        const inTime = hasLived !== undefined && hasLived >= 3_000 && hasLived <= 3_100;
        expect(inTime).toBe(endedAt === undefined);
        expect(endedAt === undefined || hasLived === undefined).toBe(true);
      }
    }),
  );
});
