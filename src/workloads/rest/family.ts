import { HttpClient } from '../../library/http-client.js';
import { undici } from '../../targets/undici.js';
import { defineRequestFamily } from '../requests/family.js';
import { type PlannedRequests, requestsOf } from '../requests/grid.js';
import { openLoadCell } from '../requests/load-cell.js';
import type { TargetServer } from '../requests/target-server.js';
import type { Family, OpenCell } from '../workload.js';
import { BATCH_PATH, REST_MATRIX, RestInput, RestSums } from './data.js';
import { type RestRequester, type RestWork, isBatch, openRequester, parsed } from './requesters.js';

/** How long the server may take to say what it can. */
const PROBE_TIMEOUT_MS = 10_000;

/** Reads by primary key over RonDB's REST requests: one at a time, many at once, and in batches of the server's own. */
export const restFamily: Family = defineRequestFamily({
  name: 'rest',
  server: 'rest',
  matrix: REST_MATRIX,
  peers: {},
  expected: ({ cell }) => new RestInput(cell.workload).expected(cell.rows),
  openCell,
  versions: (cells): Record<string, string> =>
    cells.some(({ cell }) => cell.side === 'js') ? { undici: undici.version() } : {},
});

async function openCell(planned: PlannedRequests, server: TargetServer): Promise<OpenCell> {
  const { cell } = planned;
  const input = new RestInput(cell.workload);
  const { url, headers } = addressOf(server.url);
  const mostOfBatch = await probe(planned, input, url, headers);
  let sums = new RestSums();
  const work: RestWork = { planned, input, url, headers, mostOfBatch, sums: () => sums };
  const requesters: RestRequester[] = Array.from({ length: cell.threads }, () => openRequester(work));
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
