import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { HttpClient } from '../../../src/index.js';
import { type TargetServer, openTarget } from '../../../src/families/requests/target-server.js';
import { expectedAggregation } from '../../../src/families/rest/aggregation.js';
import { RestInput, RestSums } from '../../../src/families/rest/data.js';
import { addressOf, restFamily } from '../../../src/families/rest/family.js';
import type { Stopwatch } from '../../../src/families/workload.js';
import { LatencyHistogram } from '../../../src/stats/latency-histogram.js';
import { sampleCells, stopwatch } from '../sampled-cells.js';

const { signal } = new AbortController();

describe('the requests of the family rest', () => {
  it.each(['pkread', 'pkread.many_columns', 'pkread.binary'])(
    'ask for every row, and have sums in closed form: %s',
    (workload) => {
      const input = new RestInput(workload);
      const keys = new Set<unknown>();
      const sums = new RestSums();
      for (let operation = 0; operation < 1000; operation += 1) {
        const body = JSON.parse(input.read(operation)) as {
          filters: { value: unknown }[];
          readColumns: { column: string }[];
          operationId: string;
        };
        keys.add(body.filters[0]!.value);
        const data = Object.fromEntries(body.readColumns.map(({ column }) => [column, input.value]));
        sums.addRow({ operationId: body.operationId, data }, input.value, operation);
      }
      const exchanged = new RestSums();
      const data = { col0: input.value };
      exchanged.addBatch(
        { result: ['1', '0'].map((operationId) => ({ code: 200, body: { operationId, data } })) },
        '',
        0,
      );
      expect(exchanged.checksum().sums['operation']).not.toBe(input.expected(2).sums['operation']);
      expect(keys.size).toBe(1000);
      expect(sums.checksum()).toEqual(input.expected(1000));
      const batch = JSON.parse(input.batch(3, 5)) as { operations: { body: unknown }[] };
      expect(batch.operations.map(({ body }) => body)).toEqual([JSON.parse(input.read(3)), JSON.parse(input.read(4))]);
    },
  );

  it('take the key of a URL into a header', () => {
    expect(addressOf('http://:a%2Fb@h:4406/x/')).toEqual({
      url: 'http://h:4406/x',
      headers: { 'content-type': 'application/json', 'x-api-key': 'a/b' },
    });
    expect(addressOf('http://h').headers).not.toHaveProperty('x-api-key');
  });

  it('know what the query over lineitem returns', () => {
    const { rows, sums } = expectedAggregation(2, 6000);
    expect([rows, typeof sums['count']]).toEqual([8, 'string']);
  });
});

describe('the family rest', () => {
  let server: TargetServer;
  beforeAll(async () => {
    server = await openTarget('rest', {}, ['--scale-factor', '0.01', '--max-batch', '128']);
  }, 120_000);
  afterAll(() => server.close());

  it('does the work of every cell of every side', async () => {
    const options = {
      rows: 0,
      workers: 1,
      engines: { rest: server.url },
      // Threads take turns between two addresses, whether they are of one server or of two.
      restUrl2: server.url,
      operations: 300,
      threads: [1, 3],
      // 150 is above the server's limit: such batches are divided.
      batch: [1, 16, 150],
    };
    const cells = restFamily
      .plan(options)
      .map((planned) =>
        planned.cell.workload.startsWith('aggregation.') ? { ...planned, cell: { ...planned.cell, rows: 1 } } : planned,
      );
    expect(new Set(cells.map(({ cell }) => cell.side))).toEqual(new Set(['rust', 'napi', 'js']));
    const lanes = cells.filter(({ cell }) => cell.side === 'napi').map(({ cell }) => cell.lane);
    expect(new Set(lanes)).toEqual(new Set(['call', 'call-async', 'call-blocking', 'batch']));
    await sampleCells(await restFamily.open(options, cells), cells);
  }, 300_000);

  it.skipIf(process.platform !== 'linux').each(['rust', 'napi', 'js'] as const)(
    'counts the CPU time of both of two servers, or of none: %s',
    async (side) => {
      const options = { rows: 0, workers: 1, engines: {}, operations: 600, threads: [2], batch: [1] };
      const planned = restFamily
        .plan(options)
        .find(({ cell }) => cell.workload === 'pkread.two_servers' && cell.side === side)!;
      const counted = async (second: { readonly restUrl2?: string }): Promise<boolean> => {
        const family = await restFamily.open({ ...options, ...second }, [planned]);
        const cell = await family.openCell(planned);
        let isCounted = false;
        const addRequests: Stopwatch['addRequests'] = ({ serverCpuUserSeconds: user }) =>
          (isCounted = user !== undefined);
        expect(await cell.sample({ ...stopwatch, addRequests }, signal)).toEqual(cell.expected);
        await cell.close();
        await family.close();
        return isCounted;
      };
      // The second one is the user's, whose process nobody knows.
      expect(await counted({ restUrl2: server.url })).toBe(false);
      expect(await counted({})).toBe(true);
    },
  );

  it.each(['rust', 'napi', 'js'] as const)(
    'shows how latencies grow above what the server can bear: %s',
    async (side) => {
      const options = { rows: 0, workers: 1, engines: { rest: server.url }, operations: 500, threads: [1], batch: [1] };
      const planned = restFamily
        .plan({ ...options, rate: 1e6 })
        .find(({ cell }) => cell.workload === 'pkread' && cell.lane === 'call' && cell.side === side)!;
      const family = await restFamily.open(options, [planned]);
      const cell = await family.openCell(planned);
      let late: LatencyHistogram | undefined;
      const addRequests: Stopwatch['addRequests'] = ({ latency: text }) => {
        late = LatencyHistogram.fromBase64(text!);
      };
      await cell.sample({ ...stopwatch, addRequests }, signal);
      await cell.close();
      // All requests are due at once, so each waits for those before it.
      expect(late!.quantile(0.9)).toBeGreaterThan(2 * late!.quantile(0.1));
      await family.close();
    },
  );

  it('skips what a server has not, and says which key it wants', async () => {
    const options = { rows: 0, workers: 1, engines: {}, operations: 10, threads: [1], batch: [1] };
    const key = `${'k'.repeat(16)}.${'s'.repeat(64)}`;
    const guarded = await openTarget('rest', {}, ['--api-key', key]);
    try {
      for (const side of ['napi', 'js', 'rust'] as const) {
        const family = await restFamily.open({ ...options, engines: { rest: guarded.url } }, []);
        const planned = restFamily.plan(options).find(({ cell }) => cell.workload === 'pkread' && cell.side === side)!;
        await expect(family.openCell(planned)).rejects.toThrow('--api-key');
        await family.close();
        const url = guarded.url.replace('://', `://:${key}@`);
        const allowed = await restFamily.open({ ...options, engines: { rest: url } }, []);
        const cell = await allowed.openCell(planned);
        expect(await cell.sample(stopwatch, signal)).toEqual(cell.expected);
        await cell.close();
        await allowed.close();
      }
    } finally {
      await guarded.close();
    }
  });

  it('sees a wrong value, and an aborted sample ends', async () => {
    const options = { rows: 0, workers: 1, engines: { rest: server.url }, operations: 20, threads: [1], batch: [1] };
    const planned = restFamily.plan(options).find(({ cell }) => cell.workload === 'pkread' && cell.side === 'napi')!;
    const family = await restFamily.open(options, [planned]);
    const cell = await family.openCell(planned);
    await using client = new HttpClient(server.url);
    const write = (value: string): Promise<unknown> =>
      client.request({
        path: '/0.1.0/batchwrite',
        body: JSON.stringify({
          operations: [
            {
              method: 'POST',
              'relative-url': 'rdrs_bench/table_1/pk-write',
              body: { filters: [{ column: 'id0', value: 617 }], writeColumns: [{ column: 'col0', value }] },
            },
          ],
        }),
      });
    await write('wrong');
    expect(await cell.sample(stopwatch, signal)).not.toEqual(cell.expected);
    await write('a'.repeat(100));
    expect(await cell.sample(stopwatch, signal)).toEqual(cell.expected);
    await expect(cell.sample(stopwatch, AbortSignal.abort())).rejects.toMatchObject({ code: 'BB_ABORTED' });
    await cell.close();
    await family.close();
  });
});

it('skips the cells of HTTP/2 where the server speaks HTTP/1.1 alone', async () => {
  const server = createServer((_request, response) => response.end('{}'));
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const engines = { rest: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  const options = { rows: 0, workers: 1, engines, threads: [1], batch: [8] };
  const cells = restFamily.plan(options).filter(({ cell }) => cell.workload === 'pkread.http2');
  expect(cells.map(({ cell }) => cell.side)).toEqual(['rust', 'napi', 'js']);
  const family = await restFamily.open(options, cells);
  try {
    for (const planned of cells) {
      await expect(family.openCell(planned), planned.cell.id).rejects.toMatchObject({
        code: 'BB_UNSUPPORTED',
        message: expect.stringContaining('the server does not speak HTTP/2'),
      });
    }
  } finally {
    await family.close();
    server.close();
    server.closeAllConnections();
  }
});
