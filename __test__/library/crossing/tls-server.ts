import { createServer, type Server, type Socket } from 'node:net';
import { readFileSync } from 'node:fs';
import { createServer as createTlsServer, TLSSocket } from 'node:tls';
import { fileURLToPath } from 'node:url';

const file = (name: string): string => fileURLToPath(new URL(`../../fixtures/tls/${name}`, import.meta.url));

/** The certificate of the servers, which is its own authority. */
export const AUTHORITY: string = file('loopback.pem');

/** The servers' certificate and its key. */
export const identity = { cert: readFileSync(AUTHORITY), key: readFileSync(file('loopback.key')) };

/** A server of sockets, over TLS if it is secure. */
export function socketServer(isSecure: boolean, onSocket: (socket: Socket) => void): Server {
  return isSecure ? createTlsServer(identity, onSocket) : createServer(onSocket);
}

/** The server's end of TLS that begins over an open socket, with bytes that were read from it already. */
export function secured(socket: Socket, read: Buffer): TLSSocket {
  // A socket that flows would give the bytes to nobody.
  socket.pause();
  if (read.length > 0) socket.unshift(read);
  return new TLSSocket(socket, { ...identity, isServer: true });
}
