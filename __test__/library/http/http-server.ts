import type { Socket } from 'node:net';

import { socketServer } from '../crossing/tls-server.js';
import { listening } from '../../listening.js';

/** A server of raw sockets for one test: `talk` gets every request's head, and may send any answer. */
export interface RawServer extends AsyncDisposable {
  readonly url: string;
  /** The number of connections made so far. */
  readonly connections: number;
  /** Cuts all connections. */
  cut(): void;
}

export interface Exchange {
  readonly socket: Socket;
  readonly method: string;
  readonly path: string;
  readonly head: string;
  /** The number of the connection, from 0. */
  readonly connection: number;
  /** Sends a whole answer. */
  answer(body: string, headers?: string): void;
}

/** Starts a server, over TLS if it is secure, whose requests have bodies of `content-length` or none. */
export async function startRawServer(talk: (exchange: Exchange) => void, isSecure = false): Promise<RawServer> {
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = socketServer(isSecure, (socket) => {
    const connection = connections;
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    let received = '';
    socket.on('data', (data: Buffer) => {
      received += data.toString('latin1');
      for (;;) {
        const end = received.indexOf('\r\n\r\n');
        if (end === -1) return;
        const head = received.slice(0, end);
        const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
        if (received.length < end + 4 + length) return;
        received = received.slice(end + 4 + length);
        const [method = '', path = ''] = head.split(' ');
        const answer = (body: string, headers = ''): void =>
          void socket.write(`HTTP/1.1 200 OK\r\n${headers}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
        talk({ socket, method, path, head, connection, answer });
      }
    });
  });
  const port = await listening(server);
  const cut = (): void => sockets.forEach((socket) => socket.destroy());
  return {
    url: `${isSecure ? 'https' : 'http'}://127.0.0.1:${port}`,
    get connections() {
      return connections;
    },
    cut,
    [Symbol.asyncDispose]: async () => {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
