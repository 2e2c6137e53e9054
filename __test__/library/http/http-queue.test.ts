/** A queue goes on whatever happens to its head. */
import { describe, expect, it } from 'vitest';

import { HttpClient } from '../../../src/index.js';
import { startRawServer } from './http-server.js';

const LONG = 'x'.repeat(20_000);

describe.each([
  { connections: 1, pipelining: 1 },
  { connections: 1, pipelining: 4 },
  { connections: 2, pipelining: 2 },
])('requests that wait behind another, over %o', (options) => {
  const others = (client: HttpClient, count = 8): Promise<string[]> =>
    Promise.all(Array.from({ length: count }, (_, index) => client.request({ path: `/${index}` }))).then((responses) =>
      responses.map((response) => response.text()),
    );
  const all = Array.from({ length: 8 }, (_, index) => `/${index}`);

  it('are sent when it is refused', async () => {
    await using server = await startRawServer(({ path, answer }) => void setTimeout(() => answer(path), 5));
    await using client = await HttpClient.connect(server.url, options);
    const busy = others(client);
    const refused = [
      client.request({ path: 'no' }),
      client.request({ path: '/', headers: { 'content-length': '5' } }),
      client.request({ path: '/', headers: { a: '\u{e9}' }, body: LONG }),
      client.requestMany([{ path: '/#' }, { path: '/b c' }]).then((many) => Promise.reject(many.error(1)!)),
    ];
    const outcomes = Promise.allSettled(refused);
    expect(await Promise.all([busy, others(client)])).toEqual([all, all]);
    for (const outcome of await outcomes) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'BB_INVALID_ARGUMENT' } });
    }
    expect(await others(client)).toEqual(all);
  });

  it('are sent when it is aborted, or takes too long, while it waits', async () => {
    await using server = await startRawServer(({ path, answer }) => void setTimeout(() => answer(path), 20));
    await using client = await HttpClient.connect(server.url, options);
    const busy = others(client);
    const controller = new AbortController();
    const aborted = client.request({ path: '/aborted' }, { signal: controller.signal });
    const late = client.requestMany([{ path: '/late' }, { path: '/late' }], { timeoutMs: 5 });
    const waiting = others(client);
    controller.abort();
    await expect(aborted).rejects.toMatchObject({ code: 'BB_ABORTED' });
    await expect(late).rejects.toMatchObject({ code: 'BB_TIMEOUT' });
    expect(await Promise.all([busy, waiting])).toEqual([all, all]);
  });

  it('are sent when its answer is refused, or its connection is lost', async () => {
    for (const [said, code] of [
      ['nonsense\r\n\r\n', 'BB_ENGINE'],
      ['HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n', 'BB_TOO_LARGE'],
      [undefined, 'BB_CONNECTION'],
    ] as const) {
      await using server = await startRawServer(({ socket, path, answer }) => {
        if (path !== '/head') answer(path);
        else if (said === undefined) socket.destroy();
        else socket.write(said);
      });
      await using client = new HttpClient(server.url, { ...options, maxResponseBytes: 1000 });
      const head = client.request({ path: '/head' });
      // As many as are not under way on the connection of the first one.
      const behind = Array.from({ length: 12 }, (_, index) => client.request({ path: `/${index}` }));
      await expect(head).rejects.toMatchObject({ code });
      const outcomes = await Promise.allSettled(behind);
      const failed = outcomes.filter(({ status }) => status === 'rejected');
      expect(failed.length).toBeLessThan(options.pipelining * options.connections);
      expect((await client.request({ path: '/next' })).text()).toBe('/next');
    }
  });
});
