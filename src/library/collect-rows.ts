import { HeapGuard } from './heap-guard.js';
import { type QueryHost, type QueryOptions, QueryRun, releaseFrame } from './query-run.js';
import { type Row, RowReader } from './row-reader.js';

/** More arrays than this are joined in two steps: a call takes only so many arguments. */
const MOST_ARGUMENTS = 4096;

/** All rows of a query. A result that can't fit into the heap is `BB_RESULT_TOO_LARGE`, before Node dies of it. */
export async function collectRows(host: QueryHost, sql: string, options: QueryOptions): Promise<Row[]> {
  const run = new QueryRun(host, sql, options);
  const int64 = options.int64 ?? 'bigint';
  try {
    const columns = await run.columns();
    const reader = new RowReader(columns, int64);
    const guard = new HeapGuard(columns, int64);
    const chunks: Row[][] = [];
    for (let frame = await run.next(); frame !== undefined; frame = await run.next()) {
      try {
        guard.check(frame, reader.rowCount);
        chunks.push(reader.read(frame));
      } finally {
        releaseFrame(frame);
      }
    }
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
