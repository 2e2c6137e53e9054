/** URLs in which a part of a password would be taken for a host, which is shown and looked up. */
import { describe, expect, test } from 'vitest';

import { connect, HttpClient, KvClient, ShardClient, SqlClient } from '../../../src/index.js';
import { parseKvUrl } from '../../../src/clients/js-kv-client.js';
import { parseSqlUrl } from '../../../src/clients/js-sql-client.js';
import { httpAddress } from '../../../src/families/requests/http-address.js';
import { redactUrl } from '../../../src/redact-url.js';

const LOGINS = ['u:p@geheim/geheim@127.0.0.1:1', 'u:12/geheim@127.0.0.1:1', ':p@geheim/@127.0.0.1:1'];

const OPENED: readonly (readonly [scheme: string, open: (url: string) => unknown])[] = [
  ['mysql', (url) => SqlClient.connect(url)],
  ['mysql', (url) => connect(url)],
  ['redis', (url) => KvClient.connect(url)],
  ['rediss', (url) => KvClient.connect(url)],
  ['flight', (url) => connect(url)],
  ['hyper', (url) => connect(url)],
  ['sail', (url) => connect(url)],
  ['mysql', async (url) => parseSqlUrl(url)],
  ['redis', async (url) => parseKvUrl(url)],
];

const KEYS: readonly (readonly [scheme: string, open: (url: string) => unknown])[] = [
  ['http', async (url) => new HttpClient(url)],
  ['http', (url) => ShardClient.connect([url])],
  ['https', async (url) => httpAddress(url)],
];

describe('an @ behind the host', () => {
  const failureOf = (open: (url: string) => unknown, url: string): Promise<unknown> =>
    Promise.resolve(open(url)).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );

  test.each(OPENED)('is refused in a URL of %s', async (scheme, open) => {
    for (const login of LOGINS) {
      const url = `${scheme}://${login}/d`;
      const error = await failureOf(open, url);
      expect(error, url).toMatchObject({ code: 'BB_INVALID_ARGUMENT' });
      expect(String(error)).not.toContain('geheim');
      expect(redactUrl(url)).toBe(`${scheme}://***@127.0.0.1:1/d`);
    }
  });

  test.each(KEYS)('is refused behind a login in a URL of %s', async (scheme, open) => {
    const error = await failureOf(open, `${scheme}://:p@geheim/geheim@127.0.0.1:1/`);
    expect(error).toMatchObject({ code: 'BB_INVALID_ARGUMENT' });
    expect(String(error)).not.toContain('geheim');
  });

  test('may stand in a path if there is no login', () => {
    expect(() => new HttpClient('http://127.0.0.1:1/@scope')).not.toThrow();
    expect(parseSqlUrl('mysql://u:a%2Fb%40c@h/d%40e')).toMatchObject({ password: 'a/b@c', host: 'h', database: 'd@e' });
  });
});
