import { getEventListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { exposeCollector } from '../../../src/collect-garbage.js';
import { BoundaryError, HttpClient, type HttpRequest } from '../../../src/index.js';
import { triedTransfer } from '../../detached.js';
import { type Exchange, startRawServer } from './http-server.js';
import { failureOf } from '../../error-with.js';
import { startHttp2Server } from './http2-server.js';

/** Answers every request with its method and its path. */
const echo = ({ method, path, answer }: Exchange): void => answer(`${method} ${path}`);

describe('HttpClient', () => {
  it('sends a request and gives its answer', async () => {
    await using server = await startRawServer(({ answer }) => answer(`{"a":"é"}`, `X-A: 1\r\nx-a: 2\r\n`));
    await using client = await HttpClient.connect(`${server.url}/base/`, { headers: { 'x-key': 'k' } });
    const response = await client.request({ path: '/p', body: '{}', headers: { 'content-type': 'application/json' } });
    expect([response.status, response.isOk, response.headers['x-a']]).toEqual([200, true, '1, 2']);
    expect(response.json()).toEqual({ a: 'é' });
    expect(Buffer.from(response.body).toString()).toBe(response.text());
  });

  it('keeps the responses of other calls when the memory of one is transferred', async () => {
    await using server = await startRawServer(echo);
    await using one = new HttpClient(server.url);
    await using other = new HttpClient(server.url);
    const kept = await one.request({ path: '/kept' });
    const sent = await other.request({ path: '/sent' });
    expect(sent.body.buffer).toBe(kept.body.buffer);
    triedTransfer(sent.body);
    expect([kept.text(), sent.text()]).toEqual(['GET /kept', 'GET /sent']);
    // Too many bytes for the buffer that small results share, in one turn of both clients.
    const long = `/${'x'.repeat(2000)}`;
    const both = await Promise.all(
      Array.from({ length: 8 }, (_, index) => (index % 2 === 0 ? one : other).request({ path: long })),
    );
    for (const response of both) triedTransfer(response.body);
    expect(both.map((response) => response.text())).toEqual(both.map(() => `GET ${long}`));
    // The memory of one large response is its own.
    const alone = await one.request({ path: `/${'x'.repeat(20_000)}` });
    const { body } = alone;
    triedTransfer(body);
    expect(body.length).toBe(0);
  });

  it('writes what it was given', async () => {
    const heads: string[] = [];
    await using server = await startRawServer(({ head, answer }) => {
      heads.push(head);
      answer('');
    });
    await using client = new HttpClient(`${server.url}/base/`, { headers: { 'x-key': 'k' } });
    const requests: HttpRequest[] = [
      { path: '/a?b=c' },
      { path: '/a', body: 'é' },
      { path: '/a', body: new Uint8Array(3), headers: { a: 'b' } },
      { method: 'DELETE', path: '/a' },
    ];
    await client.requestMany(requests);
    const host = server.url.slice('http://'.length);
    expect(heads).toEqual([
      `GET /base/a?b=c HTTP/1.1\r\nhost: ${host}\r\nx-key: k`,
      `POST /base/a HTTP/1.1\r\nhost: ${host}\r\nx-key: k\r\ncontent-length: 2`,
      `POST /base/a HTTP/1.1\r\nhost: ${host}\r\nx-key: k\r\na: b\r\ncontent-length: 3`,
      `DELETE /base/a HTTP/1.1\r\nhost: ${host}\r\nx-key: k`,
    ]);
  });

  it.each([
    { connections: 1, pipelining: 1 },
    { connections: 4, pipelining: 1 },
    { connections: 1, pipelining: 16 },
    { connections: 3, pipelining: 4 },
  ])('spreads many over its connections: %o', async (options) => {
    await using server = await startRawServer(echo);
    await using client = new HttpClient(server.url, options);
    const paths = Array.from({ length: 100 }, (_, index) => `/${index}`);
    for (let round = 0; round < 3; round += 1) {
      const [many, ...single] = await Promise.all([
        client.requestMany(paths.map((path) => ({ path }))),
        ...paths.map((path) => client.request({ path })),
      ]);
      expect([...many].map((response) => response.text())).toEqual(paths.map((path) => `GET ${path}`));
      expect(single.map((response) => response.text())).toEqual(paths.map((path) => `GET ${path}`));
    }
    expect(server.connections).toBe(options.connections);
  });

  it('gives back any bytes that it is sent, however long', async () => {
    await using server = await startRawServer(({ head, answer }) => answer(/x-echo: (.*)/.exec(head)?.[1] ?? ''));
    await using client = new HttpClient(server.url, { connections: 2 });
    const value = fc.string({ unit: fc.constantFrom(...'abc ~!"%'), maxLength: 3000 }).map((text) => text.trim());
    await fc.assert(
      fc.asyncProperty(fc.array(value, { minLength: 1, maxLength: 20 }), async (values) => {
        const requests = values.map((echoed) => ({ path: '/', headers: { 'x-echo': echoed } }));
        const many = await client.requestMany(requests);
        expect([...many].map((response) => response.text())).toEqual(values);
      }),
      { numRuns: 30 },
    );
  });

  it('refuses requests that cannot be sent, each in its place', async () => {
    await using server = await startRawServer(echo);
    await using client = new HttpClient(server.url);
    const many = await client.requestMany([{ path: '/a' }, { path: 'b' }, { path: '/c d' }, { path: '/d' }]);
    expect([0, 1, 2, 3].map((index) => many.error(index)?.code)).toEqual([
      undefined,
      'BB_INVALID_ARGUMENT',
      'BB_INVALID_ARGUMENT',
      undefined,
    ]);
    expect(() => [...many]).toThrow(BoundaryError);
    const wrong = [
      { path: 5 },
      { path: '/', method: 'CONNECT' },
      { path: '/', headers: { a: 'b\r\nc: d' } },
      { path: '/', headers: { 'content-length': '5' } },
      { path: '/', body: 5 },
    ] as unknown as HttpRequest[];
    for (const request of wrong) {
      expect(await failureOf(client.request(request))).toMatchObject({ code: 'BB_INVALID_ARGUMENT' });
    }
    expect(await failureOf(client.requestMany([]))).toMatchObject({ code: 'BB_INVALID_ARGUMENT' });
    for (const url of ['', 'ftp://h', 'http://user:geheim@h']) {
      const error = await failureOf(HttpClient.connect(url));
      expect(error.code).toBe('BB_INVALID_ARGUMENT');
      expect(error.message).not.toContain('geheim');
    }
    expect((await client.request({ path: '/still' })).text()).toBe('GET /still');
  });

  it('lets go of the signal of a call that is over once it is sent', async () => {
    await using server = await startRawServer(echo);
    await using client = new HttpClient(server.url);
    const { signal } = new AbortController();
    const wrong: HttpRequest[] = [
      // Long enough to be passed to the addon, and refused, at once.
      { path: '/', body: 'x'.repeat(9000), headers: { 'content-length': '9000' } },
      // Refused while it is written.
      { path: '/', headers: { a: 'b\r\nc: d' } },
    ];
    for (const request of wrong) {
      expect(await failureOf(client.request(request, { signal }))).toMatchObject({ code: 'BB_INVALID_ARGUMENT' });
      expect(getEventListeners(signal, 'abort')).toEqual([]);
    }
  });

  it('reopens a connection that the server closed while it was idle', async () => {
    await using server = await startRawServer(echo);
    await using client = new HttpClient(server.url);
    for (let round = 0; round < 4; round += 1) {
      expect((await client.request({ path: '/' })).status).toBe(200);
      server.cut();
      await delay(20);
    }
    expect(server.connections).toBe(4);
  });

  it('goes on with the others of a batch when one connection is lost', async () => {
    let lost: number | undefined;
    await using server = await startRawServer((exchange) => {
      // Whichever connection is used first: one that is opened late may find no request left.
      lost ??= exchange.connection;
      if (exchange.connection === lost) exchange.socket.destroy();
      else echo(exchange);
    });
    await using client = new HttpClient(server.url, { connections: 3 });
    const many = await client.requestMany(Array.from({ length: 20 }, (_, index) => ({ path: `/${index}` })));
    const failed = Array.from({ length: 20 }, (_, index) => many.error(index)?.code).filter(
      (code) => code !== undefined,
    );
    expect(failed).toEqual(['BB_CONNECTION']);
  });

  it('reads answers that end with the connection', async () => {
    await using server = await startRawServer(({ socket, path }) => socket.end(`HTTP/1.1 200 OK\r\n\r\n${path}`));
    await using client = new HttpClient(server.url, { connections: 2 });
    const many = await client.requestMany(['/a', '/b', '/c', '/d', '/e'].map((path) => ({ path })));
    expect([...many].map((response) => response.text()).join('')).toBe('/a/b/c/d/e');
  });

  it('gives up what takes too long or is aborted, and what comes late is nobody else’s', async () => {
    await using server = await startRawServer(({ path, answer }) => {
      if (path === '/slow') setTimeout(() => answer('late'), 100);
      else answer(path);
    });
    await using client = new HttpClient(server.url, { connections: 2, timeoutMs: 5000 });
    const slow = { path: '/slow' };
    expect(await failureOf(client.request(slow, { timeoutMs: 20 }))).toMatchObject({ code: 'BB_TIMEOUT' });
    const controller = new AbortController();
    setTimeout(() => controller.abort('enough'), 20);
    const { signal } = controller;
    expect(await failureOf(client.requestMany([slow, slow, slow], { signal }))).toMatchObject({
      code: 'BB_ABORTED',
      cause: 'enough',
    });
    expect(await failureOf(client.request(slow, { signal }))).toMatchObject({ code: 'BB_ABORTED' });
    const answers = await Promise.all(['/a', '/b', '/c'].map((path) => client.request({ path })));
    await delay(120);
    expect(answers.map((answer) => answer.text())).toEqual(['/a', '/b', '/c']);
    expect((await client.request({ path: '/d' })).text()).toBe('/d');
  });

  it('carries big bodies both ways', async () => {
    await using server = await startRawServer(({ answer }) => answer('y'.repeat(20_000_000)));
    await using client = new HttpClient(server.url, { connections: 2 });
    const big = { path: '/', body: 'x'.repeat(5_000_000) };
    const many = await client.requestMany([big, big]);
    expect([...many].map((response) => response.body.length)).toEqual([20_000_000, 20_000_000]);
  });

  it('lets the memory of a big response go with the response', async () => {
    await using server = await startRawServer(({ answer }) => answer('y'.repeat(1_000_000)));
    await using client = new HttpClient(server.url);
    const bufferOf = async (): Promise<WeakRef<ArrayBufferLike>> =>
      new WeakRef((await client.request({ path: '/' })).body.buffer);
    const buffer = await bufferOf();
    const collect = exposeCollector()!;
    await expect
      .poll(() => {
        collect('all');
        return buffer.deref() === undefined;
      })
      .toBe(true);
  });

  it('closes its connection of HTTP/2', async () => {
    await using server = await startHttp2Server((stream, path) => {
      stream.respond({ ':status': 200 });
      if (path !== '/silent') stream.end('answered');
    });
    const idle = new HttpClient(server.url, { http2: true });
    expect((await idle.request({ path: '/' })).text()).toBe('answered');
    const busy = new HttpClient(server.url, { http2: true });
    await busy.request({ path: '/' });
    const pending = failureOf(busy.request({ path: '/silent' }));
    expect(server.sessions.size).toBe(2);
    await idle.close();
    await busy.close();
    expect(await pending).toMatchObject({ code: 'BB_CLOSED' });
    expect(await failureOf(idle.request({ path: '/' }))).toMatchObject({ code: 'BB_CLOSED' });
    await idle.close();
    await expect.poll(() => server.sessions.size).toBe(0);
  });

  it('reports that there is no server, and closes', async () => {
    const server = await startRawServer(() => {});
    await server[Symbol.asyncDispose]();
    expect((await failureOf(HttpClient.connect(server.url))).message).toContain('does the server run');
    const client = new HttpClient(server.url, { connections: 4 });
    const many = await client.requestMany([{ path: '/a' }, { path: '/b' }]);
    expect([many.status(0), many.error(1)?.message]).toEqual([0, expect.stringContaining('does the server run')]);
    await using waiting = await startRawServer(() => {});
    const closing = new HttpClient(waiting.url);
    const pending = failureOf(closing.request({ path: '/' }));
    await delay(20);
    await closing.close();
    expect(await pending).toMatchObject({ code: 'BB_CLOSED' });
    expect(await failureOf(closing.request({ path: '/' }))).toMatchObject({ code: 'BB_CLOSED' });
    await closing.close();
    await client.close();
  });
});
