import { HeapGuard } from './heap-guard.js';
import { type QueryHost, type QueryOptions, QueryRun } from './query-run.js';
import { RowChunks } from './row-chunks.js';
import type { Row } from './row-reader.js';

/** More arrays than this are joined in two steps: a call takes only so many arguments. */
const MOST_ARGUMENTS = 4096;

/** All rows of a query. A result that can't fit into the heap is `BB_RESULT_TOO_LARGE`, before Node dies of it. */
export async function collectRows(host: QueryHost, sql: string, options: QueryOptions): Promise<Row[]> {
  const run = new QueryRun(host, sql, options);
  const int64 = options.int64 ?? 'bigint';
  try {
    const guard = new HeapGuard(await run.columns(), int64);
    const source = new RowChunks(run, int64, (frame, rowCount) => guard.check(frame, rowCount));
    const chunks: Row[][] = [];
    for (let rows = await source.next(); rows !== undefined; rows = await source.next()) chunks.push(rows);
    return joinChunks(chunks);
  } finally {
    run.stop();
  }
}

/** One array of all rows. `concat` copies whole arrays of pointers, where pushing would go row by row. */
function joinChunks(chunks: Row[][]): Row[] {
  if (chunks.length === 1) return chunks[0]!;
  if (chunks.length <= MOST_ARGUMENTS) return ([] as Row[]).concat(...chunks);
  const joined: Row[][] = [];
  for (let start = 0; start < chunks.length; start += MOST_ARGUMENTS) {
    joined.push(([] as Row[]).concat(...chunks.slice(start, start + MOST_ARGUMENTS)));
  }
  return joinChunks(joined);
}
