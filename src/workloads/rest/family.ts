import { BoundaryError } from '../../errors.js';
import { HttpClient } from '../../library/http-client.js';
import { undici } from '../../targets/undici.js';
import { defineRequestFamily } from '../requests/family.js';
import { type PlannedRequests, requestsOf } from '../requests/grid.js';
import { openLoadCell } from '../requests/load-cell.js';
import { type TargetServer, openTarget } from '../requests/target-server.js';
import type { Family, OpenCell } from '../workload.js';
import {
  AggregationSums,
  COUNT_BODY,
  SCAN_BODY,
  SCAN_PATH,
  SQL_BODY,
  SQL_PATH,
  countOf,
  expectedAggregation,
} from './aggregation.js';
import { BATCH_PATH, REST_MATRIX, RestInput, RestSums } from './data.js';
import {
  type RestRequester,
  type RestWork,
  isAggregation,
  isBatch,
  openPoster,
  openRequester,
  parsed,
  textOf,
} from './requesters.js';

/** How long the server may take to say what it can. */
const PROBE_TIMEOUT_MS = 10_000;

/** Where a second server is; without it, a private one is started beside a private one. */
const SECOND_URL_VARIABLE = 'REST_URL_2';

/** The size of a private server's `lineitem`, 0.01 to 1. */
const SCALE_FACTOR_VARIABLE = 'REST_SCALE_FACTOR';

/** Reads by primary key over RonDB's REST requests: one at a time, many at once, and in batches of the server's own. */
export const restFamily: Family = defineRequestFamily({
  name: 'rest',
  server: 'rest',
  matrix: REST_MATRIX,
  peers: {},
  serverOptions: (cells) =>
    cells.some(({ cell, skip }) => isAggregation(cell.workload) && skip === undefined)
      ? ['--scale-factor', process.env[SCALE_FACTOR_VARIABLE] ?? String(REST_MATRIX.aggregation.scaleFactor)]
      : [],
  serverOf: ({ mode }, server) => (mode === 'two_servers' ? withSecond(server) : undefined),
  expected: async ({ cell }, server) => {
    if (!isAggregation(cell.workload)) return new RestInput(cell.workload).expected(cell.rows);
    return expectedAggregation(cell.rows, await countRows(server));
  },
  openCell,
  versions: (cells): Record<string, string> =>
    cells.some(({ cell }) => cell.side === 'js') ? { undici: undici.version() } : {},
});

/** Two servers of which the threads take turns, as one whose URL names both. */
async function withSecond(server: TargetServer): Promise<TargetServer> {
  const url = process.env[SECOND_URL_VARIABLE];
  if (url === undefined && !server.isPrivate) {
    throw new BoundaryError('BB_UNSUPPORTED', `the second server is to be named by ${SECOND_URL_VARIABLE}`);
  }
  const second = await openTarget('rest', { rest: url ?? 'rest:' });
  const { processId: _one, ...both } = server;
  return { ...both, url: `${server.url},${second.url}`, close: () => second.close() };
}

async function openCell(planned: PlannedRequests, server: TargetServer): Promise<OpenCell> {
  const { cell } = planned;
  if (isAggregation(cell.workload)) return openAggregation(planned, server);
  const input = new RestInput(cell.workload);
  const addresses = server.url.split(',').map(addressOf);
  let sums = new RestSums();
  const works: RestWork[] = [];
  for (const { url, headers } of addresses) {
    const mostOfBatch = await probe(planned, input, url, headers);
    works.push({ planned, input, url, headers, mostOfBatch, sums: () => sums });
  }
  const requesters: RestRequester[] = Array.from({ length: cell.threads }, (_, thread) =>
    openRequester(works[thread % works.length]!),
  );
  return openLoadCell({
    requesters,
    load: { requests: requestsOf(cell), rate: cell.rate },
    serverProcess: server.processId,
    expected: input.expected(cell.rows),
    prepare: () => {
      sums = new RestSums();
    },
    checksum: () => sums.checksum(),
    close: async () => {
      await Promise.allSettled(requesters.map((requester) => requester.close()));
    },
  });
}

async function openAggregation(planned: PlannedRequests, server: TargetServer): Promise<OpenCell> {
  const { cell, mode } = planned;
  const expected = expectedAggregation(cell.rows, await countRows(server));
  const client = openPoster(cell.side, addressOf(server.url));
  let sums = new AggregationSums();
  const request = async (): Promise<void> => {
    if (mode === 'push_down') sums.addAnswer(textOf(await client.post(SQL_PATH, SQL_BODY)));
    else sums.addRows(textOf(await client.post(SCAN_PATH, SCAN_BODY)));
  };
  return openLoadCell({
    requesters: Array.from({ length: cell.threads }, () => ({ request })),
    load: { requests: requestsOf(cell), rate: cell.rate },
    serverProcess: server.processId,
    expected,
    prepare: () => {
      sums = new AggregationSums();
    },
    checksum: () => sums.checksum(),
    close: () => client.close(),
  });
}

/** The rows of `lineitem` that the server has. */
async function countRows(server: TargetServer): Promise<number> {
  const { url, headers } = addressOf(server.url);
  const client = new HttpClient(url, { headers, timeoutMs: PROBE_TIMEOUT_MS });
  try {
    return countOf(textOf(await client.request({ path: SQL_PATH, body: COUNT_BODY })));
  } finally {
    await client.close();
  }
}

/** Asks once what the cell will ask: says whether the table is there, and returns how many operations a batch may have. */
async function probe(
  { cell }: PlannedRequests,
  input: RestInput,
  url: string,
  headers: Readonly<Record<string, string>>,
): Promise<number> {
  const client = new HttpClient(url, { headers, timeoutMs: PROBE_TIMEOUT_MS });
  try {
    if (!isBatch(cell.workload)) {
      parsed(await client.request({ path: input.path, body: input.read(0) }));
      return 1;
    }
    const { oldBatch } = REST_MATRIX;
    const answer = await client.request({ path: BATCH_PATH, body: input.batch(0, cell.batch) });
    if (cell.batch > oldBatch && (answer.status === 400 || answer.status === 413)) {
      parsed(await client.request({ path: BATCH_PATH, body: input.batch(0, oldBatch) }));
      return oldBatch;
    }
    parsed(answer);
    return cell.batch;
  } finally {
    await client.close();
  }
}

/** Where requests go, with the key that the URL holds as a password in their headers. */
export function addressOf(serverUrl: string): { url: string; headers: Readonly<Record<string, string>> } {
  const url = new URL(serverUrl);
  const key = decodeURIComponent(url.password);
  url.username = '';
  url.password = '';
  return {
    url: url.href.replace(/\/$/, ''),
    headers: { 'content-type': 'application/json', ...(key === '' ? {} : { 'x-api-key': key }) },
  };
}
