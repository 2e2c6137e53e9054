/** Errors of calls of gRPC that something else than gRPC answers. */
import { createServer, constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import { type AddressInfo, createServer as createSocketServer, type Server, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';

import { connect, ShardClient } from '../../../src/index.js';
import { failureOf } from '../../error-with.js';

/** Runs work with the port of a server of HTTP/2 whose streams are given to `talk`. */
async function withServer(
  talk: (stream: ServerHttp2Stream) => void,
  work: (port: number) => Promise<void>,
): Promise<void> {
  const server = createServer();
  const sessions = new Set<ServerHttp2Session>();
  server.on('session', (session) => {
    sessions.add(session);
    session.on('error', () => {});
  });
  server.on('stream', (stream) => {
    stream.on('error', () => {});
    talk(stream);
  });
  await listening(server as unknown as Server, work, () => sessions.forEach((session) => session.destroy()));
}

async function listening(server: Server, work: (port: number) => Promise<void>, end: () => void): Promise<void> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    await work((server.address() as AddressInfo).port);
  } finally {
    end();
    await new Promise((resolve) => server.close(resolve));
  }
}

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
    await withServer(
      (stream) => page(stream, status),
      async (port) => {
        const errors = await failures(port);
        for (const error of errors) {
          expect(error.message).toContain(`status ${status} of HTTP`);
          expect(error.message).toContain('text/html; charset=utf-8');
        }
        // For Flight, such a server is none, whatever its status: it is not one that lacks a method.
        expect(errors.map((error) => error.code)).toEqual([code, 'BB_CONNECTION']);
      },
    );
  });

  it('whose stream is reset tells the reason', async () => {
    await withServer(
      (stream) => stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM),
      async (port) => {
        for (const error of await failures(port)) expect(error.message).toMatch(/excessive load|ENHANCE_YOUR_CALM/);
      },
    );
  });

  it('to a server of HTTP/1.1 tells more than that HTTP/2 failed', async () => {
    const sockets = new Set<Socket>();
    const server = createSocketServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n'));
    });
    await listening(
      server,
      async (port) => {
        for (const error of await failures(port)) expect(error.message).toContain('frame with invalid size');
      },
      () => sockets.forEach((socket) => socket.destroy()),
    );
  });
});
