/** The work of one request, by the cell's workload and lane, for each client. */
import { addon, type HttpAsyncCalls, type HttpBlockingCalls } from '../../addon.js';
import { BoundaryError } from '../../errors.js';
import { HttpClient, placeOf } from '../../library/http/http-client.js';
import type { HttpResponse } from '../../library/http/http-responses.js';
import { JsonPaths } from '../../library/codecs/json-paths.js';
import { type PlannedRequests, operationsOf } from '../requests/grid.js';
import type { Requester } from '../requests/load.js';
import { BATCH_PATH, REST_MATRIX, type RestBatch, type RestInput, type RestRow, type RestSums } from './data.js';

/** A thread of a cell. */
export interface RestRequester extends Requester {
  close(): Promise<void>;
}

/** The address of a server, with the headers of its requests. */
export interface RestAddress {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** A file of certificates to trust in place of the system's. */
  readonly tlsCa?: string;
}

/** The state that the requests of a cell share. */
export interface RestWork {
  readonly planned: PlannedRequests;
  readonly input: RestInput;
  readonly address: RestAddress;
  /** The most operations of one batch on the server. */
  readonly mostOfBatch: number;
  /** The sums of the values read since the sample began. */
  sums(): RestSums;
}

/** The part of a response that both clients read. */
export interface Answer {
  readonly status: number;
  text(): string;
}

/** Opens a thread that uses a client of the addon or the one to compare with. */
export async function openRequester(work: RestWork): Promise<RestRequester> {
  const { lane, side } = work.planned.cell;
  const { url, ...options } = work.address;
  if (lane === 'call-async') return callRequester(work, await addon.HttpAsyncCalls.open(placeOf(url, options)));
  if (lane === 'call-blocking') return callRequester(work, await addon.HttpBlockingCalls.open(placeOf(url, options)));
  return side === 'napi' ? napiRequester(work) : undiciRequester(work);
}

/** The setting in which all requests of a thread share one connection of HTTP/2. */
export const HTTP2 = 'http2';

/** The number of connections of a thread, and of requests in flight on each. */
function shapeOf({ planned: { cell, setting }, mostOfBatch }: RestWork): { connections: number; pipelining: number } {
  if (cell.lane === 'call') return { connections: 1, pipelining: 1 };
  if (isBatch(cell.workload)) return { connections: Math.ceil(cell.batch / mostOfBatch), pipelining: 1 };
  if (setting === 'pipelined') return { connections: 1, pipelining: cell.batch };
  if (setting === HTTP2) return { connections: 1, pipelining: 1 };
  return { connections: Math.min(cell.batch, REST_MATRIX.mostConnections), pipelining: 1 };
}

/** A thread whose calls cross one by one. */
function callRequester({ input, sums }: RestWork, calls: HttpAsyncCalls | HttpBlockingCalls): RestRequester {
  return {
    close: async () => calls.close(),
    request: async (index) => {
      const { status, text } = await calls.post(input.path, input.read(index));
      sums().addRow(parsed<RestRow>({ status, text: () => text }), input, index);
    },
  };
}

function napiRequester(work: RestWork): RestRequester {
  const { planned, input, address, sums } = work;
  const { cell } = planned;
  const { url, ...options } = address;
  const client = new HttpClient(url, { ...shapeOf(work), ...options, http2: planned.setting === HTTP2 });
  const close = (): Promise<void> => client.close();
  const readRow = (answer: Answer, operation: number): void => sums().addRow(parsed<RestRow>(answer), input, operation);
  if (cell.lane === 'call') {
    return {
      close,
      request: async (index) => readRow(await client.request({ path: input.path, body: input.read(index) }), index),
    };
  }
  if (isBatch(cell.workload)) {
    const post = (body: string): Promise<HttpResponse> => client.request({ path: BATCH_PATH, body });
    if (planned.setting !== 'native-json') return { close, request: batchRequest(work, post, parseBatch(work)) };
    const columns = input.names.map((name) => `result.*.body.data.${name}`);
    const paths = new JsonPaths('result.*.body.operationId', ...columns);
    const pick = (answer: HttpResponse, from: number): void => {
      sums().addPicked(paths.pick(answer.status === 200 ? answer.body : Buffer.from(textOf(answer))), input, from);
    };
    return { close, request: batchRequest(work, post, pick) };
  }
  return {
    close,
    request: async (index) => {
      const { from, to } = operationsOf(cell, index);
      const requests = [];
      for (let operation = from; operation < to; operation += 1) {
        requests.push({ path: input.path, body: input.read(operation) });
      }
      let operation = from;
      for (const response of await client.requestMany(requests)) readRow(response, operation++);
    },
  };
}

async function undiciRequester(work: RestWork): Promise<RestRequester> {
  const { UndiciClient } = await import('../../clients/undici.js');
  const { planned, input, address, sums } = work;
  const { cell, setting } = planned;
  const { url, ...options } = address;
  const client = new UndiciClient(url, {
    ...shapeOf(work),
    ...options,
    dispatches: setting !== undefined,
    streams: setting === HTTP2 ? cell.batch : undefined,
  });
  const close = (): Promise<void> => client.close();
  const post = async (path: string, body: string): Promise<Answer> => {
    const { status, text } = await client.post(path, body);
    return { status, text: () => text };
  };
  const readRow = (answer: Answer, operation: number): void => sums().addRow(parsed<RestRow>(answer), input, operation);
  if (cell.lane === 'call') {
    return { close, request: async (index) => readRow(await post(input.path, input.read(index)), index) };
  }
  if (isBatch(cell.workload)) {
    return { close, request: batchRequest(work, (body) => post(BATCH_PATH, body), parseBatch(work)) };
  }
  return {
    close,
    request: async (index) => {
      const { from, to } = operationsOf(cell, index);
      const answers = [];
      for (let operation = from; operation < to; operation += 1) answers.push(post(input.path, input.read(operation)));
      let operation = from;
      for (const answer of await Promise.all(answers)) readRow(answer, operation++);
    },
  };
}

/** Sends one batch, or several if the server takes fewer operations than the cell has. */
function batchRequest<A extends Answer>(
  { planned: { cell }, input, mostOfBatch }: RestWork,
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
function parseBatch({ sums, input }: RestWork): (answer: Answer, from: number) => void {
  return (answer, from) => sums().addBatch(parsed<RestBatch>(answer), input, from);
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
export function parsed<T>(answer: Answer): T {
  return JSON.parse(textOf(answer)) as T;
}

/** The text of a successful response. */
export function textOf(answer: Answer): string {
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
