import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { exposeCollector } from '../../src/collect-garbage.js';
import type { NativeTiming } from '../../src/families/workload.js';
import type { Sample } from '../../src/records/record.js';
import { type ResourceReader, nodeResources } from '../../src/runner/resources.js';
import { SampleStopwatch } from '../../src/runner/sample-stopwatch.js';
import { overlapOf } from '../../src/runner/time-spans.js';
import { LatencyHistogram } from '../../src/stats/latency-histogram.js';

/** Blocks the event loop; the measured time must be at least that long, and may be longer. */
function block(milliseconds: number): void {
  const until = performance.now() + milliseconds;
  while (performance.now() < until);
}

/** Lets the heartbeat beat, so that a stall before it has ended. */
const breathe = (): Promise<void> => delay(20);

function latencies(...values: number[]): string {
  const histogram = new LatencyHistogram();
  for (const value of values) histogram.record(value);
  return histogram.toBase64();
}

describe('SampleStopwatch', () => {
  it('counts time and CPU while it ran, and nothing while it did not', async () => {
    const whole = performance.now();
    const stopwatch = new SampleStopwatch();
    stopwatch.begin();
    block(60);
    stopwatch.start();
    block(20);
    stopwatch.stop();
    block(60);
    stopwatch.start();
    block(20);
    stopwatch.stop();
    const sample = await stopwatch.end();
    const outside = 0.12;
    expect(sample.seconds).toBeGreaterThanOrEqual(0.04);
    expect(sample.seconds).toBeLessThanOrEqual((performance.now() - whole) / 1000 - outside);
    expect(sample.cpuUserSeconds! + sample.cpuSystemSeconds!).toBeGreaterThan(0);
    expect(sample.peakRssBytes).toBeGreaterThan(1024 ** 2);
  });

  it('times encoding and decoding apart, and adds what was timed elsewhere', async () => {
    const stopwatch = new SampleStopwatch();
    stopwatch.begin();
    const encoded = stopwatch.apart('encode', () => (block(100), 'bytes'));
    expect(encoded).toBe('bytes');
    stopwatch.apart('encode', () => block(100));
    stopwatch.start();
    expect(() => stopwatch.apart('decode', () => 0)).toThrow(/decode apart/);
    stopwatch.stop();
    stopwatch.add({ seconds: 1, encodeSeconds: 2 });
    const sample = await stopwatch.end();
    expect(sample.encodeSeconds).toBeGreaterThanOrEqual(2.2);
    expect(sample.decodeSeconds).toBeUndefined();
    expect(sample.seconds).toBeLessThan(1.2);
  });

  it.each([0, -1, Number.NaN])('refuses work that took %s seconds', async (seconds) => {
    const stopwatch = new SampleStopwatch();
    stopwatch.begin();
    stopwatch.add({ seconds });
    await expect(stopwatch.end()).rejects.toMatchObject({
      code: 'BB_CLOCK',
      message: `the work took ${seconds} seconds by its clock`,
    });
  });

  it('sees a stall from the intended time of the beat, one that is still under way too', async () => {
    const ended = new SampleStopwatch();
    ended.begin();
    ended.start();
    await breathe();
    block(60);
    await breathe();
    ended.stop();
    expect((await ended.end()).longestStallMs).toBeGreaterThanOrEqual(50);

    const underWay = new SampleStopwatch();
    underWay.begin();
    underWay.start();
    block(60);
    underWay.stop();
    expect((await underWay.end()).longestStallMs).toBeGreaterThanOrEqual(50);
  });

  it('does not count a stall in work that is not timed', async () => {
    const stopwatch = new SampleStopwatch();
    stopwatch.begin();
    block(200);
    stopwatch.start();
    stopwatch.stop();
    const sample = await stopwatch.end();
    // The timed span lies within the stall, so only that span of the stall counts.
    expect(sample.longestStallMs).toBeLessThanOrEqual(sample.seconds * 1000 + 0.001);
  });

  it('counts the garbage collections of timed work alone', async () => {
    const collect = exposeCollector()!;
    const untimed = new SampleStopwatch();
    untimed.begin();
    collect('all');
    untimed.start();
    untimed.stop();
    collect('all');
    expect((await untimed.end()).gcSeconds).toBe(0);

    const timed = new SampleStopwatch();
    timed.begin();
    timed.start();
    collect('all');
    timed.stop();
    const sample = await timed.end();
    expect(sample.gcSeconds).toBeGreaterThan(0);
    expect(sample.gcSeconds).toBeLessThanOrEqual(sample.seconds);
  });

  it('adds work that was timed elsewhere, and says nothing of an event loop that idled', async () => {
    const stopwatch = new SampleStopwatch();
    stopwatch.begin();
    stopwatch.add({ seconds: 1.5, cpuUserSeconds: 1, cpuSystemSeconds: 0.25 });
    stopwatch.add({ seconds: 0.5, cpuUserSeconds: 0.5, cpuSystemSeconds: 0.25 });
    const { peakRssBytes, ...rest } = await stopwatch.end();
    expect(peakRssBytes).toBeGreaterThan(0);
    expect(rest).toEqual({ seconds: 2, cpuUserSeconds: 1.5, cpuSystemSeconds: 0.5 });
  });

  it('gives no CPU time if a part of the work did not tell its own', async () => {
    const stopwatch = new SampleStopwatch();
    stopwatch.begin();
    stopwatch.start();
    stopwatch.stop();
    stopwatch.add({ seconds: 1 });
    const sample = await stopwatch.end();
    expect(sample).not.toHaveProperty('cpuUserSeconds');
    expect(sample.seconds).toBeGreaterThanOrEqual(1);
  });

  it('takes CPU and memory from the reader it is given', async () => {
    const readings = [1, 3, 10, 11];
    const faults = [100, 107, 200, 205];
    const resources: ResourceReader = {
      threadCpu: () => ({ user: readings.shift()!, system: 0.5 }),
      minorFaults: () => faults.shift(),
      threadTimes: () => undefined,
      resetPeakRss: () => true,
      peakRss: () => 4096,
    };
    const stopwatch = new SampleStopwatch(resources);
    stopwatch.begin();
    for (let lap = 0; lap < 2; lap++) {
      stopwatch.start();
      stopwatch.stop();
    }
    expect(await stopwatch.end()).toMatchObject({ mainThreadCpuSeconds: 3, minorFaults: 12, peakRssBytes: 4096 });
  });

  it('counts page faults and threads of all parts of the work, or says nothing of them', async () => {
    const sampleOf = async (...parts: readonly Partial<NativeTiming>[]): Promise<Sample> => {
      const stopwatch = new SampleStopwatch();
      stopwatch.begin();
      for (const part of parts) stopwatch.add({ seconds: 1, ...part });
      return stopwatch.end();
    };
    expect(await sampleOf({ minorFaults: 5, threads: 1 }, { minorFaults: 7, threads: 3 })).toMatchObject({
      minorFaults: 12,
      threads: 3,
    });
    const unknown = await sampleOf({ minorFaults: 5, threads: 1 }, {});
    expect(unknown).not.toHaveProperty('minorFaults');
    expect(unknown).not.toHaveProperty('threads');
  });

  it.runIf(process.platform === 'linux')('counts the threads that work while it runs, and only those', async () => {
    const spin = `const { parentPort } = require('node:worker_threads');
      parentPort.on('message', (ms) => { const end = performance.now() + ms; while (performance.now() < end); parentPort.postMessage(0); });
      parentPort.postMessage(0);`;
    const worker = new Worker(spin, { eval: true });
    await once(worker, 'message');
    const measured = async (work: () => Promise<unknown>, untimed: () => Promise<unknown>): Promise<Sample> => {
      const stopwatch = new SampleStopwatch();
      stopwatch.begin();
      await untimed();
      stopwatch.start();
      await work();
      stopwatch.stop();
      await untimed();
      return stopwatch.end();
    };
    const here = async (): Promise<void> => block(100);
    const both = async (): Promise<void> => {
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker thread has no origin.
      worker.postMessage(400);
      block(400);
      await once(worker, 'message');
    };
    expect((await measured(here, both)).threads).toBe(1);
    expect((await measured(both, here)).threads).toBeGreaterThanOrEqual(2);
    await worker.terminate();
    // The kernel tells too little of so short a time.
    expect(await measured(async () => block(2), here)).not.toHaveProperty('threads');
  });

  it.runIf(process.platform === 'linux')('counts the first touches of memory', async () => {
    const stopwatch = new SampleStopwatch();
    stopwatch.begin();
    Buffer.alloc(64 * 1024 ** 2, 1);
    stopwatch.start();
    const memory = Buffer.alloc(64 * 1024 ** 2, 1);
    stopwatch.stop();
    Buffer.alloc(64 * 1024 ** 2, 1);
    const { minorFaults } = await stopwatch.end();
    expect(memory.length).toBeGreaterThan(0);
    // A huge page is one fault of 512 pages.
    expect(minorFaults).toBeGreaterThanOrEqual(32);
    expect(minorFaults).toBeLessThan((1.5 * (64 * 1024 ** 2)) / 4096);
  });

  it('refuses starts and stops that do not pair', async () => {
    const stopwatch = new SampleStopwatch();
    expect(() => stopwatch.stop()).toThrow('stopped before it was started');
    stopwatch.begin();
    stopwatch.start();
    expect(() => stopwatch.start()).toThrow('started while it ran');
    await expect(stopwatch.end()).rejects.toMatchObject({ code: 'BB_STOPWATCH' });
  });
});

describe.runIf(process.platform === 'linux')('peak memory on Linux', () => {
  it('covers only the time after the reset', () => {
    const size = 256 * 1024 ** 2;
    if (!nodeResources.resetPeakRss()) return;
    const before = nodeResources.peakRss()!;
    Buffer.alloc(size, 1);
    expect(nodeResources.peakRss()!).toBeGreaterThanOrEqual(before + size / 2);
  });
});

describe('overlapOf', () => {
  const laps = [
    { from: 0, to: 10 },
    { from: 20, to: 30 },
    { from: 30, to: 35 },
  ];

  it.each([
    [{ from: -5, to: 0 }, 0],
    [{ from: -5, to: 5 }, 5],
    [{ from: 2, to: 4 }, 2],
    [{ from: 10, to: 20 }, 0],
    [{ from: 5, to: 32 }, 17],
    [{ from: -100, to: 100 }, 25],
    [{ from: 35, to: 40 }, 0],
  ])('%o -> %i', (span, overlap) => {
    expect(overlapOf(span, laps)).toBe(overlap);
  });
});

describe('a sample of several executions', () => {
  it('has the mean of their times and faults, the largest of their peaks, and all latencies', async () => {
    const stopwatch = new SampleStopwatch();
    stopwatch.begin();
    stopwatch.add({ seconds: 1, cpuUserSeconds: 0.5, cpuSystemSeconds: 0, minorFaults: 10, threads: 1 });
    stopwatch.addRequests({ latency: latencies(100, 200), serverCpuUserSeconds: 0.5 });
    stopwatch.add({ seconds: 3, cpuUserSeconds: 1.5, cpuSystemSeconds: 0, minorFaults: 30, threads: 2 });
    stopwatch.addRequests({ latency: latencies(300) });
    const sample = await stopwatch.end(2);
    expect(sample).toMatchObject({ seconds: 2, executions: 2, cpuUserSeconds: 1, minorFaults: 20, threads: 2 });
    const all = LatencyHistogram.fromBase64(sample.latency!);
    expect([all.count, all.quantile(1)]).toEqual([3, 300]);
    // The server's time is not known of both.
    expect(sample).not.toHaveProperty('serverCpuUserSeconds');
    expect(sample).not.toHaveProperty('behind');
  });

  it('does not say how often it was executed if that is once', async () => {
    const stopwatch = new SampleStopwatch();
    stopwatch.begin();
    stopwatch.add({ seconds: 1 });
    expect(await stopwatch.end()).not.toHaveProperty('executions');
  });
});
