/** Errors of calls of gRPC that something else than gRPC answers. */
import { constants, type ServerHttp2Stream } from 'node:http2';
import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';

import { connect, ShardClient } from '../../../src/index.js';
import { failureOf } from '../../error-with.js';
import { listening } from '../../listening.js';
import { startHttp2Server } from '../http/http2-server.js';

/** The errors of the clients of gRPC that connect to a port: of the shards' client, and of Flight's. */
async function failures(port: number): Promise<{ code: string; message: string }[]> {
  return [
    await failureOf(ShardClient.connect([`http://127.0.0.1:${port}`])),
    await failureOf(connect(`flight://127.0.0.1:${port}`).then((connection) => connection.executeQuery('SELECT 1'))),
  ];
}

function page(stream: ServerHttp2Stream, status: number): void {
  stream.respond({ ':status': status, 'content-type': 'text/html; charset=utf-8' });
  stream.end('<html><body>no</body></html>');
}

describe('a call of gRPC', () => {
  it.each([
    [503, 'BB_CONNECTION'],
    [502, 'BB_CONNECTION'],
    [404, 'BB_UNSUPPORTED'],
    [200, 'BB_ENGINE'],
    [500, 'BB_ENGINE'],
  ])('names both if a page of HTML with the status %i answers', async (status, code) => {
    await using server = await startHttp2Server((stream) => page(stream, status));
    const errors = await failures(server.port);
    for (const error of errors) {
      expect(error.message).toContain(`status ${status} of HTTP`);
      expect(error.message).toContain('text/html; charset=utf-8');
    }
    // For Flight, such a server is none, whatever its status: it is not one that lacks a method.
    expect(errors.map((error) => error.code)).toEqual([code, 'BB_CONNECTION']);
  });

  it('whose stream is reset tells the reason', async () => {
    await using server = await startHttp2Server((stream) => stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM));
    for (const error of await failures(server.port)) expect(error.message).toMatch(/excessive load|ENHANCE_YOUR_CALM/);
  });

  it('to a server of HTTP/1.1 tells more than that HTTP/2 failed', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n'));
    });
    for (const error of await failures(await listening(server))) {
      expect(error.message).toContain('frame with invalid size');
    }
    server.close();
  });
});
