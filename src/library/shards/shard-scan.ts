import { setImmediate as nextTurn } from 'node:timers/promises';

import type { RawShardClient, RawShardScan } from '../../addon.js';
import { type BoundaryError, explained, toBoundaryError } from '../../errors.js';
import { onAbort } from '../crossing/abort-listeners.js';
import { abortedBy, assertNotAborted } from '../crossing/cancellation.js';
import { ColumnarChunk } from '../engine/columnar-chunk.js';
import { Frame } from '../engine/frame.js';
import { SCAN_COLUMNS } from './shard-rows.js';
import { assertFirstUse } from '../crossing/single-use.js';
import type { WebAbortSignal } from '../../platform-types.js';

/**
 * All rows of all shards, in no order, as chunks of columns. Can be iterated once. Breaking out of the loop ends the scan. If
 * shards fail, the rows of the others come first, and the loop then throws the error of the first failed shard, which names it.
 * After its signal is aborted, no further chunk is returned.
 */
export class ShardScan implements AsyncIterable<ColumnarChunk> {
  readonly #client: RawShardClient;
  readonly #signal: AbortSignal | undefined;
  #isUsed = false;

  /** @internal */
  constructor(client: RawShardClient, signal: WebAbortSignal | undefined) {
    this.#client = client;
    this.#signal = signal;
  }

  [Symbol.asyncIterator](): AsyncGenerator<ColumnarChunk, void, undefined> {
    assertFirstUse(this.#isUsed);
    this.#isUsed = true;
    return this.#chunks();
  }

  async *#chunks(): AsyncGenerator<ColumnarChunk, void, undefined> {
    const signal = this.#signal;
    assertNotAborted(signal);
    const scan = explained(() => this.#client.scan());
    // Weak, since a long-lived signal must not keep alive a scan that its user has dropped.
    const held = new WeakRef(scan);
    const ignoreSignal = signal && onAbort(signal, () => held.deref()?.cancel());
    let failure: BoundaryError | undefined;
    let firstRow = 0;
    try {
      for (;;) {
        const frame = await nextFrame(scan);
        if (signal?.aborted) throw abortedBy(signal);
        if (frame === null) break;
        if (frame instanceof ArrayBuffer) {
          const chunk = new ColumnarChunk(new Frame(frame, SCAN_COLUMNS), 'bigint', firstRow);
          firstRow += chunk.rowCount;
          yield chunk;
        } else {
          failure ??= frame;
          // No frame follows after the client was closed.
          if (frame.code === 'BB_CLOSED') break;
        }
      }
    } finally {
      ignoreSignal?.();
      scan.cancel();
    }
    if (failure !== undefined) throw failure;
  }
}

/** The next frame, the error of a shard, or null at the end. */
async function nextFrame(scan: RawShardScan): Promise<ArrayBuffer | BoundaryError | null> {
  await nextTurn();
  try {
    const frame = scan.tryNext();
    return frame === undefined ? await scan.next() : frame;
  } catch (thrown) {
    return toBoundaryError(thrown);
  }
}
