import type { Cancel, RawShardClient, RawShardFilling } from '../../addon.js';
import { rawShards } from './raw-shards.js';
import { invalidArgument } from '../../errors.js';
import { describeValue } from '../crossing/describe-value.js';
import { ownList } from '../crossing/own-list.js';
import { checkMemory } from '../crossing/typed-memory.js';

/** A message of an Arrow stream. */
export interface ArrowMessage {
  /** The message without its body. */
  readonly header: Uint8Array;
  /** The body of a batch; empty for other messages. */
  readonly body: Uint8Array;
}

/** The rows of a population that one shard gets. */
export interface ShardBatches {
  /** The number of rows. */
  readonly rows: number;
  /** The messages of one Arrow stream with the rows, from its schema to its end. */
  readonly messages: Iterable<ArrowMessage> | AsyncIterable<ArrowMessage>;
}

/** Fills all shards, each with the messages for it, of which few at a time are copied and wait to be sent. */
export async function fillShards(
  client: RawShardClient,
  shards: readonly ShardBatches[],
  replace: boolean,
  cancel: Cancel | undefined,
): Promise<void> {
  if (!Array.isArray(shards) || !ownList('the rows of shards', shards).every(isBatches)) {
    throw invalidArgument('the rows of shards must be an array of { rows, messages }, one for each shard');
  }
  const filling = new (rawShards().RawShardFilling)(shards.map(({ rows }) => rows));
  let failed: { readonly thrown: unknown } | undefined;
  const sending = shards.map(async (batches, shard) => {
    try {
      await send(filling, shard, batches);
    } catch (thrown) {
      failed ??= { thrown };
    }
  });
  try {
    await client.populateFrom(filling, replace, cancel);
    await Promise.all(sending);
  } catch (thrown) {
    // An error of the caller's messages is the reason why their population failed.
    throw failed === undefined ? thrown : failed.thrown;
  }
}

function isBatches(batches: unknown): boolean {
  if (typeof batches !== 'object' || batches === null) return false;
  const { rows, messages } = batches as Record<string, unknown>;
  if (typeof rows !== 'number' || typeof messages !== 'object' || messages === null) return false;
  return Symbol.asyncIterator in messages || Symbol.iterator in messages;
}

/** Sends the messages of a shard until it takes no more, for which its population has the reason. */
async function send(filling: RawShardFilling, shard: number, { messages }: ShardBatches): Promise<void> {
  try {
    for await (const message of messages) {
      if (typeof message !== 'object' || message === null) {
        throw invalidArgument(`a message must be an object of a header and a body, not ${describeValue(message)}`);
      }
      const { header, body } = message;
      checkMemory(header, body);
      if (!(await filling.add(shard, header, body))) return;
    }
  } finally {
    filling.end(shard);
  }
}
