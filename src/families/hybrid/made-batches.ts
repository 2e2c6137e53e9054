import { shardOf } from '../../library/shards/shard-placing.js';
import type { ArrowMessage, ShardBatches } from '../../library/shards/shard-filling.js';
import { BatchWriter, END_MESSAGE } from '../../clients/shard-batches.js';
import { HEAD_WORDS, PAYLOAD_WORDS, ROW_WORDS, writeRow } from './data.js';

/** The rows of a batch, as in the Rust client. */
const BATCH_ROWS = 4096;

const NO_BODY = new Uint8Array();

/** The generated rows of keys below `totalRows` that belong to shard number `shard` of `shards`, as the messages of one stream. */
export function batchesOf(shard: number, shards: number, totalRows: number): ShardBatches {
  const rows = countRows(shard, shards, totalRows);
  return { rows, messages: [...messagesOf(shard, shards, rows)] };
}

function* messagesOf(shard: number, shards: number, rows: number): Generator<ArrowMessage> {
  const writer = new BatchWriter();
  yield { header: writer.schema, body: NO_BODY };
  const row = new Int32Array(ROW_WORDS);
  let key = 0;
  for (let left = rows; left > 0;) {
    const count = Math.min(left, BATCH_ROWS);
    const { columns, message } = writer.batch(count);
    const words = (column: ArrayBufferView): Int32Array =>
      new Int32Array(column.buffer, column.byteOffset, column.byteLength >>> 2);
    const [keys, prices, times] = [columns.keys, columns.prices, columns.updatedAt].map(words);
    const payloads = words(columns.payloads);
    for (let place = 0; place < count; key += 1) {
      if (shardOf(key, shards) !== shard) continue;
      writeRow(row, 0, key);
      keys![place * 2] = row[0]!;
      keys![place * 2 + 1] = row[1]!;
      columns.quantities[place] = row[2]!;
      prices![place * 2] = row[3]!;
      prices![place * 2 + 1] = row[4]!;
      times![place * 2] = row[5]!;
      times![place * 2 + 1] = row[6]!;
      const start = place * PAYLOAD_WORDS;
      for (let word = 0; word < PAYLOAD_WORDS; word += 1) payloads[start + word] = row[HEAD_WORDS + word]!;
      place += 1;
    }
    left -= count;
    yield message;
  }
  yield { header: END_MESSAGE, body: NO_BODY };
}

/** The number of keys in this shard, counted by their hashes. */
function countRows(shard: number, shards: number, totalRows: number): number {
  let rows = 0;
  for (let key = 0; key < totalRows; key += 1) if (shardOf(key, shards) === shard) rows += 1;
  return rows;
}
