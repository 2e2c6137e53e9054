import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { crossing, type PrivateServer } from '../../../src/crossing-addon.js';
import { redactUrl } from '../../../src/redact-url.js';
import { runSoak } from '../../../src/families/ingest/soak.js';
import { httpAddress } from '../../../src/families/requests/http-address.js';
import type { PlannedRequests } from '../../../src/families/requests/grid.js';
import { openTarget } from '../../../src/families/requests/target-server.js';
import { restFamily } from '../../../src/families/rest/family.js';
import { REQUESTS, openCells, signal, stopwatch } from '../sampled-cells.js';
import { failureOf } from '../../error-with.js';

const KEY = `${'k'.repeat(16)}.${'s'.repeat(64)}`;

describe('a server behind TLS with a certificate of its own', () => {
  const file = (name: string): string => fileURLToPath(new URL(`../../fixtures/tls/${name}`, import.meta.url));
  let server: PrivateServer;
  let url: string;
  beforeAll(async () => {
    const kind = 'rest' as Parameters<typeof crossing.PrivateServer.start>[0];
    const tls = ['--tls-cert', file('loopback.pem'), '--tls-key', file('loopback.key')];
    server = await crossing.PrivateServer.start(kind, ['--scale-factor', '0.01', '--api-key', KEY, ...tls]);
    url = server.url.replace('://', `://:${KEY}@`);
  }, 60_000);
  afterAll(() => server.stop());

  const trusting = (): string => `${url}/?tls-ca=${encodeURIComponent(file('loopback.pem'))}`;

  it('is named by one URL, which is shown without its key', () => {
    expect(httpAddress(trusting())).toEqual({ url: server.url, secret: KEY, tlsCa: file('loopback.pem') });
    expect(redactUrl(trusting())).not.toContain(KEY);
    expect(redactUrl(trusting())).toContain('tls-ca');
  });

  it('is measured on every side', async () => {
    const engines = { rest: trusting() };
    const options = { ...REQUESTS, engines, operations: 40, connections: [2], batch: [1, 8] };
    const cells = restFamily
      .plan(options)
      .filter(({ cell }) => !cell.workload.endsWith('two_servers'))
      .map((planned) =>
        planned.cell.workload.startsWith('aggregation.')
          ? { ...planned, cell: { ...planned.cell, operations: 1 } }
          : planned,
      );
    expect(new Set(cells.map(({ cell }) => cell.side))).toEqual(new Set(['rust', 'napi', 'js']));
    const family = await restFamily.open(options, cells);
    expect((await family.versions())['rest']).toContain('boundary-bench');
    const isRefused = ({ client }: PlannedRequests): boolean => client === 'reqwest';
    for (const planned of (cells as PlannedRequests[]).filter(isRefused)) {
      await expect(family.openCell(planned)).rejects.toMatchObject({ code: 'BB_UNSUPPORTED' });
    }
    const taken = (cells as PlannedRequests[]).filter((each) => !isRefused(each));
    await openCells(family, taken, async (cell, id) =>
      expect(await cell.sample(stopwatch, signal), id).toMatchObject({ rows: cell.expected.rows }),
    );
  }, 120_000);

  it('is refused if its certificate is not trusted, and no error has the key', async () => {
    for (const wrong of [url, `${url}/?tls-ca=${encodeURIComponent(file('none.pem'))}`]) {
      const error = await failureOf(openTarget('rest', { rest: wrong }));
      expect(error).toMatchObject({ code: expect.stringMatching(/^BB_/) });
      expect(String(error)).not.toContain('ssss');
    }
  });

  it.each(['rust', 'addon', 'undici'] as const)('takes the points of a soak: %s', async (client) => {
    const target = await openTarget('ingest', { ingest: trusting() });
    const load = { workers: 2, batchSize: 10, durationSeconds: 0.2, warmupSeconds: 0 };
    const options = { url: target.url, client, encoding: 'columnar', database: 'server', ...load } as const;
    const { count, acknowledged, errors } = await runSoak(options, signal);
    expect([count, errors]).toEqual([{ outcome: 'right', counted: acknowledged }, {}]);
    expect(acknowledged).toBeGreaterThan(0);
    await target.close();
  });
});
