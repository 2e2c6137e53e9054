import type { Socket } from 'node:net';

import { socketServer } from '../crossing/tls-server.js';
import { listening } from '../../listening.js';

/** A server of the Redis protocol whose answers a test determines. */
export interface ScriptedRedis {
  readonly url: string;
  /** The number of open connections. */
  connections(): Promise<number>;
  close(): void;
}

/**
 * Starts a server, over TLS if it is secure. It answers PING by `pong`, and every other command by `answer`; `onConnection` gets each
 * new connection first.
 */
export async function startScriptedRedis(
  answer: (command: readonly string[], socket: Socket) => void,
  isSecure = false,
  onConnection: (socket: Socket) => void = () => {},
  pong = '+PONG\r\n',
): Promise<ScriptedRedis> {
  const server = socketServer(isSecure, (socket) => {
    onConnection(socket);
    let text = '';
    socket.on('error', () => {});
    socket.on('data', (data) => {
      text += data.toString('latin1');
      for (;;) {
        const read = readCommand(text);
        if (read === undefined) return;
        text = text.slice(read.end);
        if (!socket.writable) return;
        if (read.command[0] === 'PING') socket.write(pong);
        else answer(read.command, socket);
      }
    });
  });
  return {
    url: `${isSecure ? 'rediss' : 'redis'}://127.0.0.1:${await listening(server)}`,
    connections: () => new Promise((resolve) => void server.getConnections((_, count) => resolve(count))),
    close: () => void server.close(),
  };
}

/** The first command of a text and the command's end; `undefined` if the command is incomplete. */
function readCommand(text: string): { readonly command: string[]; readonly end: number } | undefined {
  const lengthAt = (kind: string, at: number): { value: number; next: number } | undefined => {
    const end = text.indexOf('\r\n', at);
    return end === -1 || text[at] !== kind ? undefined : { value: Number(text.slice(at + 1, end)), next: end + 2 };
  };
  const count = lengthAt('*', 0);
  if (count === undefined) return undefined;
  const command: string[] = [];
  let end = count.next;
  for (let argument = 0; argument < count.value; argument += 1) {
    const length = lengthAt('$', end);
    if (length === undefined || text.length < length.next + length.value + 2) return undefined;
    command.push(text.slice(length.next, length.next + length.value));
    end = length.next + length.value + 2;
  }
  return { command, end };
}
