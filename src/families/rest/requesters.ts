/** The work of one request, by the cell's workload and lane, for each client. */
import { crossing } from '../../crossing-addon.js';
import { BoundaryError } from '../../errors.js';
import { HttpClient } from '../../library/http/http-client.js';
import { headerLines } from '../../library/http/http-submission.js';
import type { HttpResponse } from '../../library/http/http-responses.js';
import { JsonPaths } from '../../library/codecs/json-paths.js';
import { type PlannedRequests, operationsOf } from '../requests/grid.js';
import type { Requester } from '../requests/load.js';
import { BATCH_PATH, REST_MATRIX, type RestBatch, type RestInput, type RestRow, type RestSums } from './data.js';
import type { JsHttpClient } from '../../clients/js-http-client.js';
import { JsClients } from '../requests/clients.js';

/** The address of a server, with the headers of its requests. */
export interface RestAddress {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** A file of certificates to trust instead of the system's. */
  readonly tlsCa?: string;
}

/** The state that the requests of a cell share. */
export interface RestShared {
  readonly planned: PlannedRequests;
  readonly input: RestInput;
  readonly address: RestAddress;
  /** The most operations of one batch on the server. */
  readonly mostOfBatch: number;
  /** The sums of the values read since the sample began. */
  sums(): RestSums;
}

/** The part of a response that both clients read. */
export interface ReadResponse {
  readonly status: number;
  text(): string;
}

/** Opens a requester that uses a client of the addon or the one to compare with. */
export async function openRequester(work: RestShared): Promise<Requester> {
  const { cell, clientModule } = work.planned;
  const { lane, side } = cell;
  if (lane === 'call-async' || lane === 'call-blocking') return callRequester(work, lane === 'call-blocking');
  return side === 'napi' && clientModule === undefined ? napiRequester(work) : jsRequester(work);
}

/** The setting in which all requests of a requester share one connection of HTTP/2. */
export const HTTP2 = 'http2';

/** The number of connections of a requester, and of requests in flight on each. */
function shapeOf({ planned: { cell, setting }, mostOfBatch }: RestShared): { connections: number; pipelining: number } {
  if (cell.lane === 'call') return { connections: 1, pipelining: 1 };
  if (isBatch(cell.workload)) return { connections: Math.ceil(cell.batch / mostOfBatch), pipelining: 1 };
  if (setting === 'pipelined') return { connections: 1, pipelining: cell.batch };
  if (setting === HTTP2) return { connections: 1, pipelining: 1 };
  return { connections: Math.min(cell.batch, REST_MATRIX.mostConnections), pipelining: 1 };
}

/** A client of a requester. */
interface RestClient<A extends ReadResponse> {
  /** Posts a request. */
  post(path: string, body: string): Promise<A>;
  /** Posts the reads of operations at once; absent for a client of the lanes with single calls alone. */
  postReads?(from: number, to: number): Promise<Iterable<A>>;
  /** Reads the response to a batch that begins with an operation, in a way of its own. */
  readBatch?(answer: A, from: number): void;
  close(): Promise<void>;
}

function requester<A extends ReadResponse>(
  work: RestShared,
  { post, postReads, readBatch = parseBatch(work), close }: RestClient<A>,
): Requester {
  const { planned, input, sums } = work;
  const { cell } = planned;
  const readRow = (answer: A, operation: number): void => sums().addRow(parsed<RestRow>(answer), input, operation);
  if (cell.lane !== 'batch') {
    return { close, request: async (index) => readRow(await post(input.path, input.read(index)), index) };
  }
  if (isBatch(cell.workload)) {
    return { close, request: batchRequest(work, (body) => post(BATCH_PATH, body), readBatch) };
  }
  return {
    close,
    request: async (index) => {
      const { from, to } = operationsOf(cell, index);
      let operation = from;
      for (const answer of await postReads!(from, to)) readRow(answer, operation++);
    },
  };
}

/** A requester whose calls cross one by one. */
async function callRequester(work: RestShared, isBlocking: boolean): Promise<Requester> {
  const { url, headers, tlsCa } = work.address;
  const address = tlsCa === undefined ? url : `${url}?tls-ca=${encodeURIComponent(tlsCa)}`;
  const calls = await crossing.HttpCalls.open(address, isBlocking, headerLines(headers));
  return requester(work, {
    post: async (path, body) => withText(await calls.post(path, body)),
    close: async () => calls.close(),
  });
}

function napiRequester(work: RestShared): Requester {
  const { planned, input, address } = work;
  const { url, ...options } = address;
  const client = new HttpClient(url, { ...shapeOf(work), ...options, http2: planned.setting === HTTP2 });
  return requester<HttpResponse>(work, {
    post: (path, body) => client.request({ path, body }),
    postReads: (from, to) => {
      const requests = [];
      for (let operation = from; operation < to; operation += 1) {
        requests.push({ path: input.path, body: input.read(operation) });
      }
      return client.requestMany(requests);
    },
    ...(planned.setting === 'native-json' && { readBatch: pickBatch(work) }),
    close: () => client.close(),
  });
}

/** A requester that uses a client to compare with. */
async function jsRequester(work: RestShared): Promise<Requester> {
  const { planned, input, address } = work;
  const { cell, setting } = planned;
  const { url, ...options } = address;
  const client = await REST_CLIENTS.of(planned);
  const connection = await client.connect(url, {
    ...shapeOf(work),
    ...options,
    ...(setting === HTTP2 && { streams: cell.batch }),
    setting,
  });
  const post = async (path: string, body: string): Promise<ReadResponse> => withText(await connection.post(path, body));
  return requester(work, {
    post,
    postReads: (from, to) => {
      const answers = [];
      for (let operation = from; operation < to; operation += 1) {
        answers.push(post(input.path, input.read(operation)));
      }
      return Promise.all(answers);
    },
    close: () => connection.close(),
  });
}

/** A response whose text has crossed. */
export function withText({ status, text }: { readonly status: number; readonly text: string }): ReadResponse {
  return { status, text: () => text };
}

/** Sends one batch, or several if the server takes fewer operations than the cell has. */
function batchRequest<A extends ReadResponse>(
  { planned: { cell }, input, mostOfBatch }: RestShared,
  post: (body: string) => Promise<A>,
  read: (answer: A, from: number) => void,
): (index: number) => Promise<void> {
  return async (index) => {
    const { from, to } = operationsOf(cell, index);
    if (to - from <= mostOfBatch) return read(await post(input.batch(from, to)), from);
    const answers = [];
    for (let start = from; start < to; start += mostOfBatch) {
      answers.push(post(input.batch(start, Math.min(to, start + mostOfBatch))));
    }
    for (const [index, answer] of (await Promise.all(answers)).entries()) read(answer, from + index * mostOfBatch);
  };
}

/** Reads the response to a batch by `JSON.parse`. */
function parseBatch({ sums, input }: RestShared): (answer: ReadResponse, from: number) => void {
  return (answer, from) => sums().addBatch(parsed<RestBatch>(answer), input, from);
}

/** Picks the values out of the response to a batch in Rust. */
function pickBatch({ sums, input }: RestShared): (answer: HttpResponse, from: number) => void {
  const columns = input.names.map((name) => `result.*.body.data.${name}`);
  const paths = new JsonPaths('result.*.body.operationId', ...columns);
  return (answer, from) => {
    sums().addPicked(paths.pick(answer.status === 200 ? answer.body : Buffer.from(textOf(answer))), input, from);
  };
}

/** Whether a workload reads by batches on the server. */
export function isBatch(workload: string): boolean {
  return workload.startsWith('batchpkread');
}

/** Whether a workload aggregates rows. */
export function isAggregation(workload: string): boolean {
  return workload.startsWith('aggregation.');
}

/** The JSON of a successful response. */
export function parsed<T>(answer: ReadResponse): T {
  return JSON.parse(textOf(answer)) as T;
}

/** The text of a successful response. */
export function textOf(answer: ReadResponse): string {
  const text = answer.text();
  checkStatus(answer.status, text);
  return text;
}

/** Throws the error of a status other than 200. */
export function checkStatus(status: number, text: string): void {
  if (status === 200) return;
  const said = text.slice(0, 300);
  if (status === 401) {
    throw new BoundaryError('BB_ENGINE', `rest: the server wants another key (401 ${said}); give it by --api-key`);
  }
  if (status === 404) {
    throw new BoundaryError('BB_UNSUPPORTED', `the server has no such table or row (404 ${said})`);
  }
  if (status === 429) {
    throw new BoundaryError(
      'BB_ENGINE',
      `rest: the server limits how often it is asked (429 ${said}); ask less by --rate`,
    );
  }
  throw new BoundaryError('BB_ENGINE', `rest: the server answered ${status} ${said}`);
}

/** The clients of the side `js`, and the user's own. */
export const REST_CLIENTS = new JsClients<JsHttpClient>('rest', {
  undici: { packageName: 'undici', load: async () => (await import('../../clients/undici.js')).undici },
});
