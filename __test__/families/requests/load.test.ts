import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type Requester, runLoad } from '../../../src/families/requests/load.js';

const { signal } = new AbortController();

/** A requester that records the indices of its requests. */
class Noting implements Requester {
  readonly indices: number[] = [];

  async request(index: number): Promise<void> {
    await Promise.resolve();
    this.indices.push(index);
  }
}

const requesters = (count: number): Noting[] => Array.from({ length: count }, () => new Noting());

/** A requester that answers the first request after `ms` milliseconds, the others at once. */
const slowFirst = (ms: number): Requester => ({
  request: async (index) => {
    if (index === 0) await delay(ms);
  },
});

describe('runLoad', () => {
  it.each([
    { connections: 1, requests: 5, rate: undefined },
    { connections: 3, requests: 10, rate: undefined },
    { connections: 4, requests: 2, rate: undefined },
    { connections: 3, requests: 10, rate: 20_000 },
    { connections: 3, requests: 0, rate: 10 },
  ])('sends the requests of each thread in their order: %o', async ({ connections, requests, rate }) => {
    const senders = requesters(connections);
    const { latency, behind } = await runLoad(senders, { requests, rate }, signal);
    senders.forEach(({ indices }, thread) => {
      const all = Array.from({ length: requests }, (_, index) => index);
      expect(indices).toEqual(all.filter((index) => index % connections === thread));
    });
    expect(latency.count).toBe(requests);
    expect(behind?.count).toBe(rate === undefined ? undefined : requests);
  });

  it('waits for each answer in a closed loop', async () => {
    const { latency } = await runLoad([slowFirst(60)], { requests: 20 }, signal);
    // A timer may fire within the millisecond before its time.
    expect(latency.quantile(1)).toBeGreaterThan(59_000_000);
    expect(latency.quantile(0)).toBeLessThan(latency.quantile(1));
  });

  it('counts from the intended time in an open loop, so that the wait behind a slow answer is not forgotten', async () => {
    const { latency } = await runLoad([slowFirst(60)], { requests: 20, rate: 1000 }, signal);
    // Request i is due after i ms; the last one still waits 40 of the 60 ms.
    expect(latency.quantile(0)).toBeGreaterThan(39_000_000);
  });

  it('tells an open loop that turns while it waits from one that works', async () => {
    const work = (milliseconds: number): Requester => ({
      request: async () => {
        const until = performance.now() + milliseconds;
        while (performance.now() < until);
      },
    });
    const shareOf = async (milliseconds: number): Promise<number> => {
      const { idleSeconds, seconds } = await runLoad([work(milliseconds)], { requests: 100, rate: 1000 }, signal);
      return idleSeconds! / seconds;
    };
    const [waits, works] = [await shareOf(0), await shareOf(1.5)];
    expect(waits).toBeGreaterThan(2 * works);
    expect(works).toBeLessThan(0.2);
    expect((await runLoad([work(0)], { requests: 3 }, signal)).idleSeconds).toBeUndefined();
  });

  it('keeps its rate', async () => {
    const startedAt = performance.now();
    await runLoad(requesters(2), { requests: 51, rate: 1000 }, signal);
    expect(performance.now() - startedAt).toBeGreaterThan(50);
  });

  it.each([
    { rate: undefined, most: Infinity },
    { rate: 1000, most: 50 },
  ])('ends after its duration, or with its last request: %o', async ({ rate, most }) => {
    const { latency, seconds } = await runLoad(requesters(2), { requests: Infinity, seconds: 0.05, rate }, signal);
    expect(latency.count).toBeGreaterThan(2);
    expect(latency.count).toBeLessThanOrEqual(most);
    expect(seconds).toBeGreaterThan(0.04);
    expect((await runLoad(requesters(2), { requests: 7, seconds: 3600, rate }, signal)).latency.count).toBe(7);
    expect((await runLoad(requesters(2), { requests: Infinity, seconds: 0, rate }, signal)).latency.count).toBe(0);
  });

  it('counts what was due and not sent, however much that is', async () => {
    const slow = await runLoad([slowFirst(100)], { requests: Infinity, seconds: 0.05, rate: 1000 }, signal);
    expect([slow.latency.count, slow.unsent]).toEqual([1, 49]);
    const waiting: Requester = { request: () => delay(1) };
    const { latency, unsent } = await runLoad([waiting], { requests: Infinity, seconds: 0.1, rate: 1e9 }, signal);
    expect(latency.count).toBeGreaterThan(0);
    expect(unsent).toBeGreaterThan(100_000);
  });

  it.each([undefined, 10_000])('goes on after failures that are noted, at the rate %o', async (rate) => {
    const noted: unknown[] = [];
    const requester: Requester = {
      request: async (index) => {
        if (index % 2 === 1) throw index;
      },
      failed: async (thrown) => void noted.push(thrown),
    };
    const { latency } = await runLoad([requester], { requests: 10, rate }, signal);
    expect([noted, latency.count]).toEqual([[1, 3, 5, 7, 9], 5]);
  });

  it.each([undefined, 1000])(
    'with a duration says what it measured when it is aborted, at the rate %o',
    async (rate) => {
      const controller = new AbortController();
      const [noting] = requesters(1) as [Noting];
      setTimeout(() => controller.abort(), 20);
      const waiting: Requester = { request: () => delay(1) };
      const load = { requests: Infinity, seconds: 3600, rate };
      const { latency } = await runLoad([waiting], load, controller.signal);
      expect(latency.count).toBeGreaterThan(0);
      expect((await runLoad([noting], load, controller.signal)).latency.count).toBe(0);
      expect(noting.indices).toEqual([]);
    },
  );

  it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])('refuses the rate %d', async (rate) => {
    await expect(runLoad(requesters(1), { requests: 1, rate }, signal)).rejects.toMatchObject({
      code: 'BB_INVALID_ARGUMENT',
    });
  });

  it('refuses to have no connection', async () => {
    await expect(runLoad([], { requests: 1 }, signal)).rejects.toMatchObject({ code: 'BB_INVALID_ARGUMENT' });
  });

  it.each([undefined, 1000])('ends all connections with the first failure, at the rate %o', async (rate) => {
    const others = requesters(2);
    const failing: Requester = {
      request: async (index) => {
        if (index > 0) throw new Error('no answer');
      },
    };
    const waiting: Requester = { request: () => new Promise(() => {}) };
    const load = runLoad([failing, ...others, waiting], { requests: 1_000_000, rate }, signal);
    await expect(load).rejects.toThrow('no answer');
    const sent = others.map(({ indices }) => indices.length);
    await delay(20);
    // At most the request that was under way is added.
    others.forEach(({ indices }, thread) => expect(indices.length).toBeLessThanOrEqual(sent[thread]! + 1));
  });

  it.each([undefined, 0.001])('ends when it is aborted, while it waits, at the rate %o', async (rate) => {
    const controller = new AbortController();
    const waiting: Requester = { request: () => new Promise(() => {}) };
    const load = runLoad([waiting], { requests: 10, rate }, controller.signal);
    setTimeout(() => controller.abort(), 10);
    await expect(load).rejects.toMatchObject({ code: 'BB_ABORTED' });
    await expect(runLoad(requesters(1), { requests: 1, rate }, controller.signal)).rejects.toMatchObject({
      code: 'BB_ABORTED',
    });
  });
});
