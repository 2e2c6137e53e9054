import { createServer, type IncomingMessage, type Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { JsCodec } from '../../../src/clients/js-codec.js';
import { dataViewColumns } from '../../../src/clients/data-view-columns.js';
import { ingestFamily } from '../../../src/families/ingest/family.js';
import { inputBatches, PointCheck } from '../../../src/families/ingest/input.js';
import { matrix } from '../../../src/families/ingest/matrix.js';
import { openStageCell } from '../../../src/families/ingest/stages.js';
import { openTarget, type TargetServer } from '../../../src/families/requests/target-server.js';
import { verifyChecksum } from '../../../src/families/verify-checksum.js';
import { openCells, stopwatch } from '../sampled-cells.js';
import { listening } from '../../listening.js';

const { signal } = new AbortController();
const MISMATCH = { code: 'BB_CHECKSUM_MISMATCH' };

/** A point of an answer: its time and its value. */
type Point = [time: number, value: number | null];

/** Faults of points that keep the number of points and, except for the last two, the sums. */
const MISTAKES: Readonly<Record<string, (points: Point[]) => void>> = {
  'two points have exchanged their values': (points) => {
    [points[3]![1], points[7]![1]] = [points[7]![1], points[3]![1]];
  },
  'two points have exchanged their places': (points) => {
    [points[3], points[7]] = [points[7]!, points[3]!];
  },
  'one point came twice, instead of two': (points) => {
    [points[3], points[5]] = [points[4]!, points[4]!];
  },
  'a point has an old value': (points) => {
    points[5]![1] = points[4]![1];
  },
  'a point is missing': (points) => {
    points.pop();
  },
};

describe.each(Object.entries(MISTAKES))('%s', (_, spoil) => {
  test('is noticed in what a stage has made', async () => {
    let decoded = 0;
    const wrong: JsCodec = {
      ...dataViewColumns,
      decoder: () => {
        const decode = dataViewColumns.decoder!();
        return (bytes) => {
          const { values, timestamps } = decode(bytes);
          const points = Array.from(values, (value, index): Point => [Number(timestamps[index]), value]);
          // The first body is decoded before the batches.
          if (decoded++ === 2) spoil(points);
          return { values: points.map(([, value]) => value!), timestamps: points.map(([time]) => time) };
        };
      },
    };
    const cell = await openStageCell('columnar_decode', 3, wrong);
    await expect(cell.verify!(stopwatch, signal)).rejects.toMatchObject(MISMATCH);
    // The mistake is made once.
    await cell.verify!(stopwatch, signal);
    await cell.close();
  });
});

test('batches that are exchanged or missing are noticed, and so are other names', () => {
  const inputs = inputBatches();
  const check = (batches: readonly number[]): void => {
    const points = new PointCheck(inputs);
    for (const batch of batches) points.add(inputs[batch]!.values, inputs[batch]!.timestamps);
    points.finish(3);
  };
  check([0, 1, 2]);
  for (const batches of [
    [0, 2, 1],
    [0, 1],
    [0, 1, 1],
  ]) {
    expect(() => check(batches)).toThrow(expect.objectContaining(MISMATCH));
  }
  const names = new PointCheck(inputs);
  names.addNames([matrix]);
  for (const wrong of [
    [],
    [matrix, matrix],
    [{ ...matrix, measurement: 'benc' }],
    [{ ...matrix, tags: { host: 'benc' } }],
    [{ ...matrix, field: 'w' }],
  ]) {
    expect(() => names.addNames(wrong)).toThrow(expect.objectContaining(MISMATCH));
  }
});

describe('a server', () => {
  let target: TargetServer;
  let proxy: Server;
  let url: string;
  /** Changes the points of an answer; set by each test. */
  let spoil: (points: Point[]) => void = () => {};

  /** Passes requests on to the server, and the answers back; those to a query for points are changed. */
  async function passOn(request: IncomingMessage): Promise<{ status: number; text: string }> {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const headers = { 'content-type': request.headers['content-type'] ?? 'text/plain' };
    const { method } = request;
    const body = method === 'POST' ? { body: Buffer.concat(pieces) } : {};
    const answer = await fetch(target.url + request.url!, { method: method!, headers, ...body });
    const text = await answer.text();
    const { searchParams } = new URL(request.url!, 'http://proxy');
    if (!searchParams.get('q')?.startsWith('SELECT "v"')) return { status: answer.status, text };
    const parsed = JSON.parse(text) as { results: { series: { values: Point[] }[] }[] };
    spoil(parsed.results[0]!.series[0]!.values);
    return { status: answer.status, text: JSON.stringify(parsed) };
  }

  beforeAll(async () => {
    target = await openTarget('ingest', {});
    proxy = createServer((request, response) => {
      void passOn(request).then(({ status, text }) => {
        response.statusCode = status;
        response.end(text);
      });
    });
    url = `http://127.0.0.1:${await listening(proxy)}`;
  }, 120_000);
  afterAll(async () => {
    proxy.closeAllConnections();
    proxy.close();
    await target.close();
  });

  test.each(Object.keys(MISTAKES))(
    'from which each side reads that %s',
    async (what) => {
      const options = {
        rows: 1000,
        workers: 1,
        engines: { ingest: url },
        operations: 2500,
        connections: [2],
        batch: [1000],
      };
      const cells = ingestFamily.plan(options).filter(({ cell }) => cell.workload.startsWith('soak_'));
      expect(cells.length).toBe(9);
      await openCells(await ingestFamily.open(options, cells), cells, async (cell, id) => {
        spoil = () => {};
        await cell.verify!(stopwatch, signal);
        spoil = MISTAKES[what]!;
        verifyChecksum(await cell.sample(stopwatch, signal), cell.expected);
        await expect(cell.verify!(stopwatch, signal), id).rejects.toMatchObject(MISMATCH);
      });
    },
    120_000,
  );
});
