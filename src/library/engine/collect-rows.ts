import { HeapGuard } from './heap-guard.js';
import { QueryRun, type QuerySource } from './query-run.js';
import { RowChunks } from './row-chunks.js';
import type { Row } from './row-reader.js';

/** All rows of a query. Rejects with `BB_RESULT_TOO_LARGE` before a result exceeds V8's heap, which would end the process. */
export async function collectRows(source: QuerySource): Promise<Row[]> {
  const run = new QueryRun(source);
  try {
    const guard = new HeapGuard(await run.columns(), run.int64);
    const chunkSource = new RowChunks(run, {
      rowsAreKept: true,
      // Builds a whole frame per turn: each turn of the loop may start a garbage collection, which finds nearly all rows alive.
      rowsPerTurn: Infinity,
      admit: (frame, rowCount) => guard.check(frame, rowCount),
    });
    const chunks: Row[][] = [];
    for (let rows = await chunkSource.next(); rows !== undefined; rows = await chunkSource.next()) chunks.push(rows);
    return joinChunks(chunks);
  } finally {
    run.stop();
  }
}

/**
 * One array of all rows. Avoids `concat`, which becomes much slower once a library such as apache-arrow defines
 * `Symbol.isConcatSpreadable`.
 */
function joinChunks(chunks: Row[][]): Row[] {
  if (chunks.length === 1) return chunks[0]!;
  const rows: Row[] = [];
  rows.length = chunks.reduce((total, chunk) => total + chunk.length, 0);
  let end = 0;
  for (const chunk of chunks) {
    for (const row of chunk) rows[end++] = row;
  }
  return rows;
}
