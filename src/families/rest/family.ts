import { itemsOf } from '../../records/record.js';
import { BoundaryError, UNSUPPORTED, checksumMismatch, toBoundaryError } from '../../errors.js';
import { HttpClient } from '../../library/http/http-client.js';
import type { HttpResponse } from '../../library/http/http-responses.js';
import { defineRequestFamily } from '../requests/family.js';
import type { PlannedRequests } from '../requests/grid.js';
import { CLIENT_OPTIONS, type RequestValues } from '../requests/options.js';
import { httpAddress } from '../requests/http-address.js';
import { openRequestCell } from '../requests/load-cell.js';
import { type TargetServer, enginesWithKey, openTarget, reachTarget } from '../requests/target-server.js';
import { valuesOf } from '../option.js';
import type { FamilyOptions, OpenCell } from '../workload.js';
import { AggregationSums, COUNT_BODY, SQL_PATH, countOf, expectedAggregation } from './aggregation.js';
import { openAggregator } from './aggregator.js';
import {
  REST_CLIENTS,
  HTTP2,
  type RestAddress,
  type RestShared,
  checkStatus,
  isAggregation,
  isBatch,
  openRequester,
  parsed,
  textOf,
} from './requesters.js';
import { BATCH_PATH, REST_MATRIX, type RestBatch, RestInput, type RestRow, RestSums } from './data.js';
import { REST_OPTIONS, type RestValues } from './options.js';

/** The time-out of probing the server in milliseconds. */
const PROBE_TIMEOUT_MS = 10_000;

/** Reads by primary key over RonDB's REST requests: one at a time, many at once, and in batches of the server's own. */
export const restFamily = defineRequestFamily<PlannedRequests, RestValues>({
  name: 'rest',
  module: import.meta.url,
  hasParts: true,
  server: 'rest',
  matrix: REST_MATRIX,
  options: { ...REST_OPTIONS, ...CLIENT_OPTIONS },
  serverOptions: (cells, options) =>
    cells.some(({ cell, skip }) => isAggregation(cell.workload) && skip === undefined)
      ? ['--scale-factor', String(valuesOf(REST_OPTIONS, options).restScaleFactor)]
      : [],
  reach: async (url, { restUrl2, ...options }) => {
    await reachRest(url);
    if (restUrl2 !== undefined)
      await reachRest(enginesWithKey('rest', { ...options, engines: { rest: restUrl2 } }).rest!);
  },
  serverOf: ({ setting }, server, options) => (setting === 'two_servers' ? withSecond(server, options) : undefined),
  expected: async ({ cell }, server) => {
    if (!isAggregation(cell.workload)) return new RestInput(cell.workload).expected(itemsOf(cell));
    return expectedAggregation(itemsOf(cell), await countRows(server));
  },
  openCell,
  packagesOf: REST_CLIENTS.packagesOf,
  versions: REST_CLIENTS.versions,
});

/** Reaches a server, and reads a row from it, which needs the key. Which tables it has is seen by the cells. */
async function reachRest(serverUrl: string): Promise<void> {
  await reachTarget('rest', serverUrl);
  const input = new RestInput('pkread');
  const { url, ...options } = addressOf(serverUrl);
  const client = new HttpClient(url, { ...options, timeoutMs: PROBE_TIMEOUT_MS });
  try {
    const answer = await client.request({ path: input.path, body: input.read(0) });
    if (answer.status === 401) checkStatus(answer.status, answer.text());
  } finally {
    await client.close();
  }
}

/** Two servers of which the connections take turns, as one whose URL names both. */
async function withSecond(
  server: TargetServer,
  { restUrl2, processes = 1, ...options }: FamilyOptions & Partial<RestValues> & Pick<RequestValues, 'processes'>,
): Promise<TargetServer> {
  if (restUrl2 === undefined && processes > 1) {
    throw new BoundaryError(
      UNSUPPORTED,
      `processes share no private second server: name it by ${REST_OPTIONS.restUrl2.variable}`,
    );
  }
  if (restUrl2 === undefined && !server.isPrivate) {
    throw new BoundaryError(UNSUPPORTED, `the second server is to be named by ${REST_OPTIONS.restUrl2.variable}`);
  }
  const engines = { rest: restUrl2 ?? 'rest:' };
  const second = await openTarget('rest', enginesWithKey('rest', { ...options, engines }));
  // The CPU time of one of them would be taken for the time of both.
  const areKnown = server.processIds.length > 0 && second.processIds.length > 0;
  return {
    ...server,
    url: `${server.url},${second.url}`,
    processIds: areKnown ? [...server.processIds, ...second.processIds] : [],
    close: () => second.close(),
  };
}

async function openCell(planned: PlannedRequests, server: TargetServer): Promise<OpenCell> {
  const { cell } = planned;
  if (isAggregation(cell.workload)) return openAggregation(planned, server);
  const input = new RestInput(cell.workload);
  const addresses = server.url.split(',').map(addressOf);
  let sums = new RestSums();
  const works: RestShared[] = [];
  for (const address of addresses) {
    works.push({ planned, input, address, mostOfBatch: await probe(planned, input, address), sums: () => sums });
  }
  return openRequestCell(planned, server, {
    openRequester: (index) => openRequester(works[index % works.length]!),
    expected: input.expected(itemsOf(cell)),
    prepare: () => {
      sums = new RestSums();
    },
    checksum: () => sums.checksum(),
  });
}

async function openAggregation(planned: PlannedRequests, server: TargetServer): Promise<OpenCell> {
  const { cell, setting } = planned;
  const expected = expectedAggregation(itemsOf(cell), await countRows(server));
  const client = await openAggregator(cell.side, addressOf(server.url));
  let sums = new AggregationSums();
  const request = async (): Promise<void> => {
    if (setting === 'push_down') sums.addAnswer(await client.pushDown());
    else sums.addGroups(await client.pull());
  };
  return openRequestCell(planned, server, {
    openRequester: () => ({ request }),
    expected,
    prepare: () => {
      sums = new AggregationSums();
    },
    checksum: () => sums.checksum(),
    close: () => client.close(),
  });
}

/** The number of rows in the server's `lineitem`. */
async function countRows(server: TargetServer): Promise<number> {
  const { url, ...options } = addressOf(server.url);
  const client = new HttpClient(url, { ...options, timeoutMs: PROBE_TIMEOUT_MS });
  try {
    return countOf(textOf(await client.request({ path: SQL_PATH, body: COUNT_BODY })));
  } finally {
    await client.close();
  }
}

/** Sends the cell's request once: checks that the table exists, and returns the most operations of a batch. */
async function probe(
  { cell, setting }: PlannedRequests,
  input: RestInput,
  { url, ...options }: RestAddress,
): Promise<number> {
  const client = new HttpClient(url, { ...options, timeoutMs: PROBE_TIMEOUT_MS, http2: setting === HTTP2 });
  try {
    if (!isBatch(cell.workload)) {
      const answer = await client.request({ path: input.path, body: input.read(0) });
      checkRows(input, 1, (sums) => sums.addRow(parsed<RestRow>(answer), input, 0));
      return 1;
    }
    const post = (most: number): Promise<HttpResponse> =>
      client.request({ path: BATCH_PATH, body: input.batch(0, most) });
    const { oldBatch } = REST_MATRIX;
    let most = cell.batch;
    let answer = await post(most);
    if (most > oldBatch && (answer.status === 400 || answer.status === 413)) answer = await post((most = oldBatch));
    checkRows(input, most, (sums) => sums.addBatch(parsed<RestBatch>(answer), input, 0));
    return most;
  } catch (cause) {
    const { code, message } = toBoundaryError(cause);
    // Without TLS, a server that does not speak HTTP/2 shows only in that it ends the connection.
    if (setting !== HTTP2 || code !== 'BB_CONNECTION') throw cause;
    throw new BoundaryError(UNSUPPORTED, `the server does not speak HTTP/2 (${message})`, { cause });
  } finally {
    await client.close();
  }
}

/** Throws unless the answers to the operations below `operations` hold the rows with which the cells compare. */
function checkRows(input: RestInput, operations: number, add: (sums: RestSums) => void): void {
  const sums = new RestSums();
  add(sums);
  const [found, expected] = [sums.checksum(), input.expected(operations)].map((checksum) => JSON.stringify(checksum));
  if (found === expected) return;
  const problem = `${input.path} does not answer with the rows that docs/rest.md describes`;
  throw checksumMismatch(`${problem}: ${found} instead of ${expected}`);
}

/** The address for requests, with the key that the URL holds as a password in their headers. */
export function addressOf(serverUrl: string): RestAddress {
  const { secret, ...address } = httpAddress(serverUrl);
  return {
    ...address,
    headers: { 'content-type': 'application/json', ...(secret === '' ? {} : { 'x-api-key': secret }) },
  };
}
