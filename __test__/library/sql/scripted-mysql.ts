import { createServer, type Socket } from 'node:net';

import { secured } from '../crossing/tls-server.js';
import { listening } from '../../listening.js';

/** Capabilities of a server: all of the first 28 bits without TLS, and with TLS. */
export const PLAIN = 0x0fff_f7ff;
export const WITH_TLS = 0x0fff_ffff;

/** A packet of the MySQL protocol. */
export function packet(sequence: number, body: Uint8Array | readonly number[]): Buffer {
  const head = Buffer.alloc(4);
  head.writeUIntLE(body.length, 0, 3);
  head[3] = sequence;
  return Buffer.concat([head, Buffer.from(body)]);
}

/** The OK packet, which answers a login or a statement without rows. */
export function okPacket(sequence: number): Buffer {
  return packet(sequence, [0, 0, 0, 2, 0, 0, 0]);
}

/** The answer to a statement given as text: one row of one text. */
export function oneText(text: string): Buffer {
  const column = [
    ...['def', '', '', '', 'x', ''].map(sized),
    Buffer.from([12, 45, 0, 255, 255, 0, 0, 253, 0, 0, 0, 0, 0]),
  ];
  return Buffer.concat([
    packet(1, [1]),
    packet(2, Buffer.concat(column)),
    packet(3, sized(text)),
    packet(4, [0xfe, 0, 0, 2, 0, 0, 0]),
  ]);
}

function sized(text: string): Buffer {
  return Buffer.concat([Buffer.from([text.length]), Buffer.from(text)]);
}

/** The greeting of a server; `plugin` is its authentication method. */
export function greeting(capabilities: number, plugin = 'mysql_native_password'): Buffer {
  const bits = Buffer.alloc(4);
  bits.writeUInt32LE(capabilities);
  const head = [
    Buffer.from('\u000a8.0.0\0'),
    Buffer.from([1, 0, 0, 0]),
    Buffer.from('12345678\0'),
    bits.subarray(0, 2),
  ];
  const tail = [Buffer.from([45, 2, 0]), bits.subarray(2), Buffer.from([21]), Buffer.alloc(10)];
  return packet(0, Buffer.concat([...head, ...tail, Buffer.from(`abcdefghijkl\0${plugin}\0`)]));
}

/**
 * Starts a server, which takes up TLS if its greeting offers it, and whose packets a test determines: `first` as the greeting, `admit`
 * for the login, `answer` for the statements except the client's own question for settings, which gets `settings`.
 */
export async function startScriptedMysql(
  first: Buffer,
  answer: (sql: string, socket: Socket) => void,
  admit: (sequence: number) => Buffer = okPacket,
  settings: Buffer = oneText('67108864'),
): Promise<{ readonly url: string; close(): void }> {
  const server = createServer((plain) => {
    let socket = plain;
    let bytes = Buffer.alloc(0);
    let isIn = false;
    plain.on('error', () => {});
    plain.write(first);
    const hear = (data: Buffer): void => {
      bytes = Buffer.concat([bytes, data]);
      // The client's request for TLS: a login without a name.
      if (!isIn && socket === plain && bytes.length >= 36 && bytes.readUIntLE(0, 3) === 32) {
        plain.off('data', hear);
        socket = secured(plain, bytes.subarray(36));
        bytes = Buffer.alloc(0);
        socket.on('error', () => {});
        socket.on('data', hear);
        return;
      }
      while (bytes.length >= 4 && bytes.length >= 4 + bytes.readUIntLE(0, 3)) {
        const end = 4 + bytes.readUIntLE(0, 3);
        const sequence = bytes[3]!;
        const sql = bytes.toString('latin1', 5, end);
        bytes = bytes.subarray(end);
        if (!isIn) socket.write(admit(sequence + 1));
        else if (sql.includes('max_allowed_packet')) socket.write(settings);
        else answer(sql, socket);
        isIn = true;
      }
    };
    plain.on('data', hear);
  });
  return {
    url: `mysql://me:geheim@127.0.0.1:${await listening(server)}/`,
    close: () => void server.close(),
  };
}
