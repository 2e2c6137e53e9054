import { describe, expect, it } from 'vitest';

import { HttpClient } from '../../../src/index.js';
import { startRawServer } from './http-server.js';

const head = 'HTTP/1.1 200 OK\r\nx-a: 1\r\ntransfer-encoding: chunked\r\n\r\n';
const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;

describe('HttpClient.stream', () => {
  it('gives the body while it comes', async () => {
    let go = (): void => {};
    await using server = await startRawServer(({ socket, method, path }) => {
      socket.write(head + chunk(`${method} ${path} é`));
      go = () => socket.write(`${chunk('the rest')}0\r\n\r\n`);
    });
    await using client = new HttpClient(server.url);
    const stream = await client.stream({ path: '/p', body: '{}' });
    expect([stream.status, stream.isOk, stream.headers['x-a']]).toEqual([200, true, '1']);
    let text = '';
    for await (const piece of stream) {
      text += Buffer.from(piece).toString();
      // The server sends the rest once the first piece was read.
      if (text === 'POST /p é') go();
    }
    expect(text).toBe('POST /p éthe rest');
    expect(server.connections).toBe(1);
  });

  it('gives large bodies in pieces, and all of one as text', async () => {
    const body = 'x'.repeat(3_000_000);
    await using server = await startRawServer(({ answer }) => answer(body));
    await using client = new HttpClient(server.url, { maxResponseBytes: 1000 });
    let pieces = 0;
    let bytes = 0;
    for await (const piece of await client.stream({ path: '/' })) {
      pieces += 1;
      bytes += piece.length;
    }
    expect([bytes, pieces > 1]).toEqual([body.length, true]);
    expect(await (await client.stream({ path: '/' })).text()).toBe(body);
  });

  it('ends with its loop, its signal, its time and its client', async () => {
    const closed: string[] = [];
    await using server = await startRawServer(({ socket, path }) => {
      socket.on('close', () => closed.push(path));
      if (path !== '/silent') socket.write(head + chunk('some'));
    });
    const client = new HttpClient(server.url);
    const first = await client.stream({ path: '/' });
    const drain = async (stream: AsyncIterable<Uint8Array>): Promise<void> => {
      for await (const _ of stream);
    };
    const controller = new AbortController();
    const aborted = drain(await client.stream({ path: '/' }, { signal: controller.signal }));
    controller.abort();
    await expect(aborted).rejects.toMatchObject({ code: 'BB_ABORTED' });
    await expect(client.stream({ path: '/silent' }, { timeoutMs: 30 })).rejects.toMatchObject({ code: 'BB_TIMEOUT' });
    await first.close();
    await expect(drain(first)).rejects.toMatchObject({ code: 'BB_CLOSED' });
    const last = drain(await client.stream({ path: '/' }));
    await client.close();
    await expect(last).rejects.toMatchObject({ code: 'BB_CLOSED' });
    await expect(client.stream({ path: '/' })).rejects.toMatchObject({ code: 'BB_CLOSED' });
    await expect.poll(() => closed.length).toBe(4);
  });

  it('closes the connection of a body that nobody reads', async () => {
    const closed: string[] = [];
    await using server = await startRawServer(({ socket, path }) => {
      socket.on('close', () => closed.push(path));
      socket.write(head + chunk('some'));
    });
    const client = new HttpClient(server.url);
    const controller = new AbortController();
    const aborted = await client.stream({ path: '/aborted' }, { signal: controller.signal });
    const late = await client.stream({ path: '/late' }, { timeoutMs: 2000 });
    const left = await client.stream({ path: '/left' });
    controller.abort();
    await expect.poll(() => closed).toContain('/aborted');
    await expect.poll(() => closed).toContain('/late');
    expect(closed).not.toContain('/left');
    await client.close();
    await expect.poll(() => closed).toContain('/left');
    await expect(aborted.text()).rejects.toMatchObject({ code: 'BB_ABORTED' });
    await expect(late.text()).rejects.toMatchObject({ code: 'BB_TIMEOUT' });
    await expect(left.text()).rejects.toMatchObject({ code: 'BB_CLOSED' });
  });

  it('says what went wrong', async () => {
    await using server = await startRawServer(({ socket }) => socket.end(head + chunk('some')));
    await using client = new HttpClient(server.url);
    await expect((await client.stream({ path: '/' })).text()).rejects.toMatchObject({ code: 'BB_CONNECTION' });
    await expect(client.stream({ path: 'x' })).rejects.toMatchObject({ code: 'BB_INVALID_ARGUMENT' });
    await using http2 = new HttpClient(server.url, { http2: true });
    await expect(http2.stream({ path: '/' })).rejects.toMatchObject({ code: 'BB_UNSUPPORTED' });
  });
});
