import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';

import { BoundaryError, HttpClient, type HttpHeaders } from '../../../src/index.js';
import { startRawServer } from './http-server.js';
import { failureOf } from '../../error-with.js';

/** Ways of giving the headers `authorization: Bearer k` and `x-a: 1`. */
function* waysToGiveHeaders(): Generator<[string, HttpHeaders]> {
  const pairs = [
    ['authorization', 'Bearer k'],
    ['x-a', '1'],
  ] as [string, string][];
  const object = Object.fromEntries(pairs);
  yield ['an object', object];
  yield ['an object without a prototype', Object.assign(Object.create(null) as object, object)];
  yield ['an object of another realm', runInNewContext('({ authorization: "Bearer k", "x-a": "1" })') as HttpHeaders];
  yield ['Headers', new Headers(pairs)];
  yield ['a Map', new Map(pairs)];
  yield ['an array of pairs', pairs];
  yield ['a Set of pairs', new Set(pairs)];
  yield ['URLSearchParams', new URLSearchParams(object)];
  yield ['an object with an iterator', { [Symbol.iterator]: () => pairs[Symbol.iterator]() }];
  yield ['an array of names and values by turns', pairs.flat()];
}

/** Objects that hold their values in another way, and values that are no set of headers. */
class Getters {
  get authorization(): string {
    return 'Bearer k';
  }
}
const REFUSED: [string, unknown][] = [
  ['an instance with getters', new Getters()],
  ['an object with a prototype of its own', Object.create({ authorization: 'Bearer k' })],
  ['a promise', Promise.resolve({ authorization: 'Bearer k' })],
  ['a WeakMap', new WeakMap()],
  ['a Date', new Date()],
  ['a boxed number', Object(5)],
  ['a text', 'authorization: Bearer k'],
  ['a function', () => ({})],
  ['a number', 5],
  ['null', null],
  ['a name without a value', ['authorization', 'Bearer k', 'x-a']],
  ['a triple', [['authorization', 'Bearer', 'k']]],
  ['pairs that are none', [['authorization', 'Bearer k'], 'x-a: 1']],
  ['bytes', Buffer.from('authorization: Bearer k')],
  ['a value that is none', new Map([['authorization', undefined]])],
  ['a boxed value', { authorization: Object('Bearer k') }],
  ['a list of values', { authorization: ['Bearer k'] }],
];

describe('the headers of HttpClient', () => {
  it('may be a thousand in a response, whose JSON may begin with a byte order mark', async () => {
    await using server = await startRawServer(({ answer }) => answer('\ufeff{"a":1}', 'x: y\r\n'.repeat(900)));
    await using client = new HttpClient(server.url);
    const response = await client.request({ path: '/' });
    expect(response.headerValues('x')).toHaveLength(900);
    expect(response.json()).toEqual({ a: 1 });
    // As the text that `fetch` returns. The bytes are as they came.
    expect([response.text(), await (await client.stream({ path: '/' })).text()]).toEqual(['{"a":1}', '{"a":1}']);
    expect(response.body).toHaveLength(10);
  });

  it.each([...waysToGiveHeaders()])('are sent when they are given as %s', async (_, headers) => {
    const heads: string[] = [];
    await using server = await startRawServer(({ head, answer }) => {
      heads.push(head);
      answer('');
    });
    await using plain = new HttpClient(server.url);
    await plain.request({ path: '/', headers });
    await plain.requestMany([{ path: '/', headers }]);
    await (await plain.stream({ path: '/', headers })).close();
    await using client = new HttpClient(server.url, { headers });
    await client.request({ path: '/' });
    expect(heads).toHaveLength(4);
    for (const head of heads) expect(head.split('\r\n').slice(2)).toEqual(['authorization: Bearer k', 'x-a: 1']);
  });

  it('may have a name several times, and come from a generator', async () => {
    await using server = await startRawServer(({ head, answer }) => answer(head));
    await using client = new HttpClient(server.url);
    function* twice(): Generator<readonly [string, string]> {
      yield ['x-a', '1'];
      yield ['x-a', '2'];
    }
    expect((await client.request({ path: '/', headers: twice() })).text()).toContain('x-a: 1\r\nx-a: 2');
    const raw = ['x-a', '1', 'X-A', '2'];
    expect((await client.request({ path: '/', headers: raw })).text()).toContain('x-a: 1\r\nX-A: 2');
  });

  it.each(REFUSED)('are refused, and never dropped, as %s', async (_, given) => {
    await using server = await startRawServer(({ answer }) => answer(''));
    await using client = new HttpClient(server.url);
    const headers = given as HttpHeaders;
    const failures = [
      await failureOf(client.request({ path: '/', headers })),
      await failureOf(client.requestMany([{ path: '/' }, { path: '/', headers }])),
      await failureOf(client.stream({ path: '/', headers })),
      await failureOf(HttpClient.connect(server.url, { headers })),
    ];
    for (const error of failures) {
      expect(error).toBeInstanceOf(BoundaryError);
      expect(error.code).toBe('BB_INVALID_ARGUMENT');
      expect(error.message).not.toContain('Bearer');
    }
  });

  it('of a response are told apart, one by one', async () => {
    const sent =
      'Set-Cookie: a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT\r\nvary: a\r\nset-cookie: b=2\r\nVary: b, c\r\n';
    await using server = await startRawServer(({ answer }) => answer('', sent));
    await using client = new HttpClient(server.url);
    await using stream = await client.stream({ path: '/' });
    for (const response of [await client.request({ path: '/' }), stream]) {
      expect(response.getSetCookie()).toEqual(['a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT', 'b=2']);
      expect(response.headerValues('VARY')).toEqual(['a', 'b, c']);
      expect(response.headerValues('x-none')).toEqual([]);
      expect(response.headers['vary']).toBe('a, b, c');
      expect(() => response.headerValues(5 as unknown as string)).toThrow(BoundaryError);
    }
  });
});

describe('the options of HttpClient', () => {
  it.each([
    ['a Map', new Map([['headers', { a: 'b' }]])],
    ['an array', []],
    ['Headers', new Headers()],
    ['a promise', Promise.resolve({})],
    ['an AbortSignal', new AbortController().signal],
    ['null', null],
    ['a text', 'http2'],
  ])('are refused, and never ignored, as %s', async (_, given) => {
    await using server = await startRawServer(({ answer }) => answer(''));
    const options = given as object;
    expect(await failureOf(HttpClient.connect(server.url, options))).toMatchObject({ code: 'BB_INVALID_ARGUMENT' });
    await using client = new HttpClient(server.url);
    expect(await failureOf(client.request({ path: '/' }, options))).toMatchObject({ code: 'BB_INVALID_ARGUMENT' });
    expect(await failureOf(client.stream({ path: '/' }, options))).toMatchObject({ code: 'BB_INVALID_ARGUMENT' });
  });

  it.each([
    ['a form', new FormData()],
    ['the parameters of a URL', new URLSearchParams({ a: 'b' })],
    ['a Blob', new Blob(['a'])],
    ['a stream', new ReadableStream()],
    ['an ArrayBuffer', new ArrayBuffer(3)],
    ['a DataView', new DataView(new ArrayBuffer(3))],
    ['an object', { a: 1 }],
    ['null', null],
  ])('are refused with a body that is %s', async (_, body) => {
    await using server = await startRawServer(({ answer }) => answer(''));
    await using client = new HttpClient(server.url);
    const error = await failureOf(client.request({ path: '/', body: body as unknown as string }));
    expect(error).toMatchObject({ code: 'BB_INVALID_ARGUMENT', message: expect.stringContaining('its body must be') });
  });
});
