/**
 * The soak as request work: a number of points over a number of connections, in batches, the same on every side. Each sample
 * writes to a measurement of its own, and afterwards the server must count all its points. The check of a cell reads them back, too.
 */
import { setTimeout as delay } from 'node:timers/promises';

import { cpuOfProcess } from '../../host/process-cpu.js';
import { checksumMismatch } from '../../errors.js';
import { type Checksum, itemsOf } from '../../records/record.js';
import { optionalVersion } from '../../clients/optional-package.js';
import { defineRequestFamily } from '../requests/family.js';
import { operationsOf, type PlannedRequests } from '../requests/grid.js';
import type { Requester } from '../requests/load.js';
import { openRequestCell } from '../requests/load-cell.js';
import type { TargetServer } from '../requests/target-server.js';
import type { OpenCell } from '../workload.js';
import { matrix } from './matrix.js';
import { checkKept, PointsQuery, writePath } from './points-query.js';
import { SoakSeries } from './soak-batch.js';
import { openSoakClient, type SoakClient, soakPackages } from './soak-client.js';
import { SOAK_ENCODINGS, type SoakEncoding } from './soak-options.js';

const DATABASE = 'server';

/** The status of a busy server, and the delay in milliseconds before the request is retried. */
const BUSY = 503;
const REST_MS = 10;

/**
 * A server is idle if its CPU time over `WATCHED_MS` is below the share `RESTING`. An idle server is awaited for at most
 * `REST_WITHIN_MS`.
 */
const WATCHED_MS = 50;
const RESTING = 0.2;
const REST_WITHIN_MS = 10_000;

/** A part of the family `ingest`. */
export const soakFamily = defineRequestFamily({
  name: 'ingest',
  server: 'ingest',
  matrix: matrix.soak,
  reach: async (url) => {
    await (await PointsQuery.open(url, DATABASE)).close();
  },
  expected: ({ cell }) => expectedOf(itemsOf(cell)),
  packagesOf: ({ side }, workload) => (side === 'js' ? soakPackages(encodingOf(workload)) : []),
  openCell,
  versions: (cells): Record<string, string> =>
    cells.some(({ cell }) => cell.side === 'js') ? { undici: optionalVersion('undici') } : {},
});

function expectedOf(rows: number): Checksum {
  return { rows, sums: {} };
}

async function openCell(planned: PlannedRequests, server: TargetServer): Promise<OpenCell> {
  const { cell } = planned;
  const points = itemsOf(cell);
  const name = cell.side === 'napi' ? 'addon' : 'undici';
  const client = await openSoakClient(name, server.url, cell.connections, encodingOf(cell.workload));
  const query = await PointsQuery.open(server.url, DATABASE);
  const requesters = Array.from({ length: cell.connections }, (_, worker) => new SoakRequester(client, cell, worker));
  const prefix = server.newPrefix();
  let measurement = '';
  let samples = 0;
  return openRequestCell(planned, server, {
    openRequester: (worker) => requesters[worker]!,
    expected: expectedOf(points),
    prepare: async (signal) => {
      await waitForRest(server.processIds[0], signal);
      measurement = `${prefix}_${samples}`;
      samples += 1;
      for (const requester of requesters) requester.begin(measurement);
    },
    checksum: async () => ({ rows: await query.count(DATABASE, measurement, points), sums: {} }),
    verify: async (send, signal) => {
      await send();
      const counted = await query.count(DATABASE, measurement, points);
      if (counted !== points) throw checksumMismatch(`the server counts ${counted} points instead of ${points}`);
      await query.check(DATABASE, measurement, points, signal);
    },
    close: async () => {
      await client.close();
      await query.close();
    },
  });
}

/** Waits until the server has written the points of earlier samples to its files, which is not this sample's work. */
async function waitForRest(server: number | undefined, signal: AbortSignal): Promise<void> {
  const used = (): number | undefined => {
    const cpu = server === undefined ? undefined : cpuOfProcess(server);
    return cpu && cpu.user + cpu.system;
  };
  const until = performance.now() + REST_WITHIN_MS;
  let before = used();
  while (before !== undefined && performance.now() < until) {
    await delay(WATCHED_MS, undefined, { signal });
    const now = used();
    if (now !== undefined && now - before < (RESTING * WATCHED_MS) / 1000) return;
    before = now;
  }
}

function encodingOf(workload: string): SoakEncoding {
  const encoding = SOAK_ENCODINGS.find((name) => workload === `soak_${name}`);
  if (encoding === undefined) throw new Error(`the family ingest has no requests for ${workload}`);
  return encoding;
}

/** One connection. */
class SoakRequester implements Requester {
  readonly #client: SoakClient;
  readonly #cell: PlannedRequests['cell'];
  readonly #worker: number;
  readonly #path = writePath(DATABASE);
  #series: SoakSeries | undefined;

  constructor(client: SoakClient, cell: PlannedRequests['cell'], worker: number) {
    this.#client = client;
    this.#cell = cell;
    this.#worker = worker;
  }

  /** Starts the series of another sample. */
  begin(measurement: string): void {
    this.#series = new SoakSeries(this.#client, measurement, this.#worker, matrix.timestampStart);
  }

  async request(index: number): Promise<void> {
    const { from, to } = operationsOf(this.#cell, index);
    const body = this.#series!.body(from, to);
    for (;;) {
      const answer = await this.#client.write(this.#path, body);
      if (answer.status !== BUSY) return checkKept(answer);
      await delay(REST_MS);
    }
  }
}
