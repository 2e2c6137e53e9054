import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { describe, expect, it } from 'vitest';

import { HttpClient, type HttpResponse } from '../../../src/index.js';
import { startHttp2Server } from './http2-server.js';

function answer(stream: ServerHttp2Stream, body: string): void {
  if (stream.destroyed) return;
  stream.respond({ ':status': 200, 'set-cookie': ['a=1, x', 'b=2'] });
  stream.end(body);
}

function burst(client: HttpClient, count: number): Promise<HttpResponse[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => client.request({ path: `/${index}` })));
}

/** One stream of a connection at a time. */
const ONE = { maxConcurrentStreams: 1 };

const OPTIONS = { http2: true, timeoutMs: 20_000 } as const;

describe('HttpClient over HTTP/2', () => {
  it('replaces those headers of the client that a request has itself', async () => {
    const heads: IncomingHttpHeaders[] = [];
    await using server = await startHttp2Server((stream, path, headers) => {
      heads.push(headers);
      answer(stream, path);
    }, ONE);
    await using client = new HttpClient(server.url, { ...OPTIONS, headers: { 'x-a': 'a', 'x-b': 'b' } });
    const response = await client.request({ path: '/', headers: { 'X-A': 'c' } });
    expect(response.getSetCookie()).toEqual(['a=1, x', 'b=2']);
    expect(heads).toMatchObject([{ 'x-a': 'c', 'x-b': 'b' }]);
  });

  it('goes on with those that wait when the first of them is given up', async () => {
    const paths: string[] = [];
    await using server = await startHttp2Server((stream, path) => {
      paths.push(path);
      if (path !== '/head') answer(stream, path);
    }, ONE);
    await using client = await HttpClient.connect(server.url, OPTIONS);
    const controller = new AbortController();
    const head = client.request({ path: '/head' }, { timeoutMs: 100 });
    const aborted = client.request({ path: '/aborted' }, { signal: controller.signal });
    const refused = client.request({ path: 'no' });
    const outcomes = Promise.allSettled([head, aborted, refused]);
    const others = burst(client, 5);
    controller.abort();
    expect((await others).map((response) => response.status)).toEqual([200, 200, 200, 200, 200]);
    const codes = (await outcomes).map((outcome) => (outcome as { reason?: { code: string } }).reason?.code);
    expect(codes).toEqual(['BB_TIMEOUT', 'BB_ABORTED', 'BB_INVALID_ARGUMENT']);
    expect(paths).not.toContain('no');
  });
});
