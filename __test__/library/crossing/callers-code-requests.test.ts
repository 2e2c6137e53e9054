import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { HttpClient, type HttpRequest, KvClient, SqlClient, SqlType, typed } from '../../../src/index.js';
import { mysqlOfSuite } from '../../mysql-server.js';
import { lacks } from '../../needs.js';
import { redisOfSuite } from '../../redis-server.js';
import { type Taker, takesCodeOfItsCaller, text } from '../callers-code.js';
import { type RawServer, startRawServer } from '../http/http-server.js';
import type { Watch } from '../watched-values.js';
import { startHttp2Server, type Http2TestServer } from '../http/http2-server.js';

describe('HttpClient', () => {
  let server: RawServer;
  let http2: Http2TestServer;
  /** The text that the servers get of a request with a mark. */
  const seen = (mark: string): string => `POST /${mark} a=${mark} ${mark}`;

  beforeAll(async () => {
    server = await startRawServer(({ method, path, head, answer }) => {
      const [, header] = /a: (\w*)/.exec(head) ?? [];
      answer(`${method} ${path} a=${header} ${head.endsWith('content-length: 1') ? path.slice(1) : 'no body'}`);
    });
    http2 = await startHttp2Server((stream, path, headers) => {
      let body = '';
      stream.on('data', (data) => (body += String(data)));
      stream.on('end', () => {
        stream.respond({ ':status': 200 });
        stream.end(`${headers[':method']} ${path} a=${String(headers['a'])} ${body}`);
      });
    });
  });

  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    await http2[Symbol.asyncDispose]();
  });

  const request = (mark: string): HttpRequest => ({ path: `/${mark}`, headers: { a: mark }, body: text(mark) });
  const texts = (mark: string): HttpRequest => ({ path: `/${mark}`, method: 'POST', headers: { a: mark }, body: mark });
  type Send = (client: HttpClient, mark: string, watch: Watch) => Promise<unknown>;
  const CALLS: Record<string, Send> = {
    'request, bytes': async (client, mark, watch) => (await client.request(watch(request(mark)))).text(),
    'request, text and options': async (client, mark, watch) =>
      (
        await client.request(watch(texts(mark)), watch({ timeoutMs: 60_000, signal: new AbortController().signal }))
      ).text(),
    requestMany: async (client, mark, watch) => {
      const [one, two] = await client.requestMany(watch([texts(mark), request(mark)]));
      return one!.text() === two!.text() ? one!.text() : 'two different requests';
    },
  };
  for (const [name, send] of Object.entries(CALLS)) {
    const openOn = (url: () => string, isHttp2: boolean) => async (): Promise<Taker> => {
      const client = await HttpClient.connect(url(), { http2: isHttp2, connections: 1 });
      return { call: (mark, watch) => send(client, mark, watch), close: () => client.close() };
    };
    takesCodeOfItsCaller(
      `${name}, driven by the event loop`,
      openOn(() => server.url, false),
      seen,
    );
    takesCodeOfItsCaller(
      `${name}, over HTTP/2`,
      openOn(() => http2.url, true),
      seen,
    );
  }
  takesCodeOfItsCaller(
    'stream',
    async () => {
      const client = new HttpClient(server.url);
      return {
        call: async (mark, watch) => (await client.stream(watch(request(mark)), watch({ timeoutMs: 60_000 }))).text(),
        close: () => client.close(),
      };
    },
    seen,
  );

  test('the headers of one server never reach another', async () => {
    const heads: string[][] = [[], []];
    const listen = (index: number): Promise<RawServer> =>
      startRawServer(({ head, answer }) => {
        heads[index]!.push(head.split('\r\n')[0]!, ...head.split('\r\n').filter((line) => line.startsWith('auth')));
        answer(String(index));
      });
    await using one = await listen(0);
    await using two = await listen(1);
    await using a = new HttpClient(one.url);
    await using b = new HttpClient(two.url);
    let inner: Promise<{ text(): string }> | undefined;
    const outer = a.request({
      get path() {
        inner = b.request({ path: '/in' });
        return '/out';
      },
      headers: { authorization: 's' },
    });
    expect([(await outer).text(), (await inner!).text()]).toEqual(['0', '1']);
    expect(heads).toEqual([['GET /out HTTP/1.1', 'authorization: s'], ['GET /in HTTP/1.1']]);
  });
});

describe.skipIf(lacks('redis'))('KvClient', () => {
  const server = redisOfSuite();

  type Send = (client: KvClient, mark: string, watch: Watch) => Promise<unknown>;
  const CALLS: Record<string, Send> = {
    'set and get, bytes': async (client, mark, watch) => {
      await client.set(watch(text(mark)), watch(text(mark)));
      return client.getText(watch(text(mark)));
    },
    'get with options': async (client, mark, watch) => {
      await client.set(mark, mark);
      return client.getText(mark, watch({ timeoutMs: 60_000, signal: new AbortController().signal }));
    },
    'mset and mget': async (client, mark, watch) => {
      await client.mset(
        watch([
          [mark, watch(text(mark))],
          ['x', mark],
        ] as [string, string][]),
      );
      return (await client.mget(watch([mark]))).text(0);
    },
    pipeline: async (client, mark, watch) => {
      const pipeline = client
        .pipeline()
        .set(watch(text(mark)), mark)
        .command('GET', watch(text(mark)));
      return (await pipeline.execute(watch({ timeoutMs: 60_000 }))).value(1);
    },
  };
  for (const [name, send] of Object.entries(CALLS)) {
    takesCodeOfItsCaller(
      name,
      async () => {
        const client = await KvClient.connect(server.url);
        return { call: (mark, watch) => send(client, mark, watch), close: () => client.close() };
      },
      (mark) => mark,
    );
  }

  test('bytes are as they were at the call, also if a connection must be made first', async () => {
    await using client = await KvClient.connect(server.url);
    await client
      .pipeline()
      .command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'no')
      .execute()
      .catch(() => {});
    await client.get('anything').catch(() => {});
    const [key, value] = [text('key'), text('value')];
    const set = client.set(key, value);
    key.fill(0);
    value.fill(0);
    await set;
    expect(await client.getText('key')).toBe('value');
  });
});

describe.skipIf(lacks('mysql'))('SqlClient', () => {
  const mysql = mysqlOfSuite();
  beforeAll(() => mysql.client.query('CREATE TABLE marks (mark VARCHAR(9), note BLOB, UNIQUE (mark))'));

  const limits = (watch: Watch) => watch({ timeoutMs: 60_000, signal: new AbortController().signal });
  type Send = (client: SqlClient, mark: string, watch: Watch) => Promise<unknown>;
  const CALLS: Record<string, Send> = {
    'query with options': async (client, mark, watch) =>
      (await client.query(`SELECT '${mark}' AS mark`, limits(watch))).rows()[0]!['mark'],
    execute: async (client, mark, watch) => {
      const given = watch([mark, typed(SqlType.text(), 'x'), watch(text('bytes'))]);
      const [row] = (await client.execute('SELECT ? AS mark, ? AS t, ? AS b', given, limits(watch))).rows();
      return row!['mark'];
    },
    queryMany: async (client, mark, watch) => {
      const results = await client.queryMany('SELECT ? AS mark', watch([[mark], [mark]]), limits(watch));
      return [...new Set(results.rows().map((row) => row['mark']))].join();
    },
    run: async (client, mark, watch) => {
      const sql = 'SELECT ? AS mark';
      const requests = [{ sql, parameters: [mark] }, { sql: `SELECT '${mark}' AS mark` }, { sql, parameters: [mark] }];
      const results = await client.run(watch(requests), limits(watch));
      return [...new Set(results.rows().map((row) => row['mark']))].join();
    },
    insertRows: async (client, mark, watch) => {
      await client.execute('DELETE FROM marks WHERE mark = ?', [mark]);
      await client.insertRows('marks', watch(['mark', 'note']), watch([[mark, watch(text('note'))]]), limits(watch));
      const { rows } = { rows: (await client.execute('SELECT mark FROM marks WHERE mark = ?', [mark])).rows() };
      return rows.map((row) => row['mark']).join();
    },
  };
  for (const [name, send] of Object.entries(CALLS)) {
    takesCodeOfItsCaller(
      name,
      async () => {
        const client = await SqlClient.connect(mysql.url);
        return { call: (mark, watch) => send(client, mark, watch), close: () => client.close() };
      },
      (mark) => mark,
    );
  }
});
