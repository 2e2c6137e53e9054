import { setTimeout as delay } from 'node:timers/promises';

import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';

import { SoakBatch } from '../../../src/families/ingest/soak-batch.js';
import { SOAK_CLIENTS, SOAK_ENCODINGS } from '../../../src/families/ingest/soak-options.js';
import { runSoak, type SoakOptions } from '../../../src/families/ingest/soak.js';
import { openTarget, type TargetServer } from '../../../src/families/requests/target-server.js';

// Each test starts a server or uses one, which takes as long as the machine is busy.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const OPTIONS = {
  encoding: 'columnar',
  workers: 3,
  batchSize: 100,
  durationSeconds: 0.3,
  warmupSeconds: 0.1,
  database: 'server',
} as const;

const NANOSECONDS = 1e9;

const never = (): AbortSignal => new AbortController().signal;

describe('a soak', () => {
  let server: TargetServer;

  beforeAll(async () => void (server = await openTarget('ingest', {})));

  afterAll(() => server.close());

  const cells = SOAK_CLIENTS.flatMap((client) => SOAK_ENCODINGS.map((encoding) => ({ client, encoding })));

  test.each(cells)('by $client in $encoding is counted', async ({ client, encoding }) => {
    const result = await runSoak({ url: server.url, ...OPTIONS, client, encoding }, never());
    expect(result.errors).toEqual({});
    expect(result.points).toBeGreaterThan(0);
    expect(result.points).toBe(result.requests * OPTIONS.batchSize);
    expect(result.acknowledged).toBeGreaterThanOrEqual(result.points);
    expect(result.uncertain).toBe(0);
    expect(result.count).toEqual({ outcome: 'right', counted: result.acknowledged });
    expect(result.latency.p99).toBeGreaterThanOrEqual(result.latency.p50);
  });

  test.each(SOAK_CLIENTS)('by %s above what the target bears shows how far it was behind', async (client) => {
    const rate = 1e6;
    const options: SoakOptions = { url: server.url, ...OPTIONS, client, warmupSeconds: 0, rate };
    const result = await runSoak(options, never());
    expect(result.unsent).toBeGreaterThan(OPTIONS.workers);
    // The last answered request was due after as many parts of the rate's second as there were requests.
    const behind = (result.seconds - (result.requests + OPTIONS.workers) / rate) * NANOSECONDS;
    expect(result.latency.max).toBeGreaterThanOrEqual(0.99 * behind);
    expect(result.count.outcome).toBe('right');
  });

  test.each(SOAK_CLIENTS)('by %s sends no more than its rate says', async (client) => {
    const options: SoakOptions = { url: server.url, ...OPTIONS, client, warmupSeconds: 0, rate: 20 };
    const result = await runSoak(options, never());
    expect(result.requests).toBeGreaterThan(0);
    expect(result.requests).toBeLessThanOrEqual(6);
    expect(result.errors).toEqual({});
  });

  test.each(SOAK_CLIENTS.flatMap((client) => [{ client }, { client, rate: 0.5 }]))(
    'that is aborted reports its counts so far: %o',
    async (options) => {
      const controller = new AbortController();
      const running = runSoak({ url: server.url, ...OPTIONS, ...options, durationSeconds: 3600 }, controller.signal);
      await delay(200);
      controller.abort();
      const result = await running;
      expect(result.count).toEqual({ outcome: 'right', counted: result.acknowledged });
    },
  );

  test('of a server that is not there is refused', async () => {
    const options: SoakOptions = { ...OPTIONS, url: 'http://127.0.0.1:1', client: 'addon' };
    await expect(runSoak(options, never())).rejects.toMatchObject({ code: expect.stringMatching(/^BB_/) as string });
  });
});

test.each(SOAK_CLIENTS)(
  'a server that is killed under %s leaves errors of one kind, and the points in flight uncertain',
  async (client) => {
    const server = await openTarget('ingest', {});
    onTestFinished(() => server.close());
    // Eight, so that some have a request in flight whenever the server ends.
    const options = { ...OPTIONS, workers: 8, durationSeconds: 2, warmupSeconds: 0 };
    const running = runSoak({ url: server.url, ...options, client }, never());
    await delay(300);
    process.kill(server.processIds[0]!, 'SIGKILL');
    const result = await running;
    expect(result.count.outcome).toBe('unknown');
    expect(result.uncertain).toBeGreaterThan(0);
    // Nothing is uncertain of the requests afterwards, whose connections are refused.
    expect(result.uncertain).toBeLessThanOrEqual(options.workers * options.batchSize);
    expect(Object.keys(result.errors)).toEqual(['BB_CONNECTION']);
    expect(result.errors['BB_CONNECTION']).toBeGreaterThan(options.workers);
  },
);

test('a batch holds its points, also those after 2106', () => {
  const batch = new SoakBatch(3);
  fc.assert(
    fc.property(fc.nat({ max: 1e9 }), fc.nat({ max: 8e15 }), (from, firstTime) => {
      batch.fill(from, firstTime);
      expect([...batch.values]).toEqual([0, 1, 2].map((index) => (from + index) / 1000));
      expect([...batch.timestamps]).toEqual([0, 1, 2].map((index) => BigInt(firstTime + from + index)));
    }),
  );
});
