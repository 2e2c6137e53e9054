import {
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type Settings,
} from 'node:http2';

import { listening } from '../../listening.js';

/** A server of HTTP/2 whose answers a test determines. */
export interface Http2TestServer extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  /** The sessions that are open. */
  readonly sessions: ReadonlySet<ServerHttp2Session>;
}

/** Starts a server whose streams are given to `talk`. */
export async function startHttp2Server(
  talk: (stream: ServerHttp2Stream, path: string, headers: IncomingHttpHeaders) => void,
  settings: Settings = {},
): Promise<Http2TestServer> {
  const server = createServer({ settings });
  const sessions = new Set<ServerHttp2Session>();
  server.on('session', (session) => {
    sessions.add(session);
    session.on('error', () => {}).on('close', () => sessions.delete(session));
  });
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {});
    talk(stream, headers[':path']!, headers);
  });
  const port = await listening(server);
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    sessions,
    [Symbol.asyncDispose]: async () => {
      for (const session of sessions) session.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
