/** Servers whose certificates vouch for themselves are trusted as Node trusts them. */
import { readFileSync } from 'node:fs';
import { createServer as createHttpsServer } from 'node:https';
import { createSecureServer } from 'node:http2';
import type { Server } from 'node:net';
import { connect as connectTls, createServer as createTlsServer } from 'node:tls';
import { fileURLToPath } from 'node:url';

import { expect, test } from 'vitest';

import { HttpClient, KvClient } from '../../../src/index.js';
import { listening } from '../../listening.js';

const file = (name: string): string => fileURLToPath(new URL(`../../fixtures/tls/${name}`, import.meta.url));
const identityOf = (name: string) => ({
  cert: readFileSync(file(`${name}.pem`)),
  key: readFileSync(file(`${name}.key`)),
});

const NAMES = [
  'authority',
  'authority-expired',
  'authority-issued',
  'authority-of-clients',
  'authority-of-signatures',
  'localhost',
  'loopback',
] as const;

/** The port of a server that listens from now on. */
const portOf = (server: Server): Promise<number> => listening(server.on('tlsClientError', () => {}));

/** Whether Node takes the certificate of a server. */
function isTrustedByNode(port: number, host: string, ca: string): Promise<boolean> {
  const socket = connectTls({ port, host: '127.0.0.1', servername: host, ca: readFileSync(file(`${ca}.pem`)) });
  return new Promise((done) => {
    socket.once('secureConnect', () => done(true)).once('error', () => done(false));
  }).then((isTrusted) => {
    socket.destroy();
    return isTrusted as boolean;
  });
}

test('HTTP takes the certificates that Node takes, and no others', async () => {
  const taken: string[] = [];
  for (const own of NAMES) {
    const server = createHttpsServer(identityOf(own), (_, response) => void response.end('x'));
    const port = await portOf(server);
    for (const named of NAMES) {
      const isTaken = await HttpClient.connect(`https://localhost:${port}`, { tlsCa: file(`${named}.pem`) }).then(
        async (client) => {
          expect((await client.request({ path: '/' })).text()).toBe('x');
          await client.close();
          return true;
        },
        () => false,
      );
      // rustls takes no certificate of an authority that another one has issued, which Node does.
      const isIssued = own === 'authority-issued' && named === 'authority';
      expect(isTaken || isIssued, `${own}, ${named}`).toBe(await isTrustedByNode(port, 'localhost', named));
      if (isTaken) taken.push(`${own} by ${named}`);
    }
    server.closeAllConnections();
    server.close();
  }
  expect(taken).toEqual(['authority by authority', 'localhost by localhost', 'loopback by loopback']);
});

test('the name of a certificate that is named is still checked', async () => {
  const server = createHttpsServer(identityOf('localhost'), (_, response) => void response.end('x'));
  const port = await portOf(server);
  const connecting = HttpClient.connect(`https://127.0.0.1:${port}`, { tlsCa: file('localhost.pem') });
  await expect(connecting).rejects.toThrow(/not valid for name/);
  server.close();
});

test('HTTP/2 and Redis take the certificate of an authority that is the server itself', async () => {
  const http2 = createSecureServer(identityOf('authority'), (_, response) => void response.end('x'));
  const url = `https://127.0.0.1:${await portOf(http2)}`;
  {
    await using client = await HttpClient.connect(url, { tlsCa: file('authority.pem'), http2: true });
    expect((await client.request({ path: '/' })).text()).toBe('x');
  }
  http2.close();

  const redis = createTlsServer(identityOf('authority'), (socket) => {
    socket.on('data', () => socket.write('$1\r\nx\r\n')).on('error', () => {});
  });
  const port = await portOf(redis);
  {
    const options = { tlsCa: file('authority.pem') };
    await using client = await KvClient.connect(`rediss://127.0.0.1:${port}?cluster=false`, options);
    expect(await client.getText('key')).toBe('x');
  }
  redis.close();
});
