/** The shard of a key, in 32-bit arithmetic, as `proto/boundary_bench/shards/v1/shards.proto` describes it. */

import { invalidArgument } from '../../errors.js';
import { describeValue } from '../crossing/describe-value.js';
import { checkInteger } from '../crossing/options.js';

const HIGH_SEED = 0x9e3779b9;
const WORD = 2 ** 32;

/** Mixes the bits of an integer. Takes and returns a signed 32-bit integer. */
export function mix(bits: number): number {
  let mixed = bits ^ (bits >>> 16);
  mixed = Math.imul(mixed, 0x85ebca6b);
  mixed ^= mixed >>> 13;
  mixed = Math.imul(mixed, 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}

/** The hash of a key, an unsigned 32-bit integer. A number must be a safe integer. */
export function keyHash(key: number | bigint): number {
  if (typeof key === 'number') return hashOf(key | 0, Math.floor(key / WORD) | 0);
  return hashOf(Number(BigInt.asIntN(32, key)), Number(BigInt.asIntN(32, key >> 32n)));
}

/**
 * The shard of a key, among `shards` shards. Throws `BB_INVALID_ARGUMENT` for a key that is neither a safe integer nor a bigint of 64
 * bits, and for what is no number of shards.
 *
 * @example
 * ```js
 * import { shardOf } from 'boundary-bench';
 *
 * const shard = shardOf(7, 3);
 * console.log(shard >= 0 && shard < 3); // true
 * ```
 */
export function shardOf(key: number | bigint, shards: number): number {
  if (!isInt64(key)) {
    throw invalidArgument(`a key must be a safe integer or a bigint of 64 bits, not ${describeValue(key)}`);
  }
  if (!Number.isInteger(shards) || shards < 1 || shards >= WORD)
    checkInteger('the number of shards', shards, 1, WORD - 1);
  return Math.floor((keyHash(key) * shards) / WORD);
}

/** Whether a value is a safe integer or a bigint of 64 bits. */
export function isInt64(value: unknown): boolean {
  return Number.isSafeInteger(value) || (typeof value === 'bigint' && BigInt.asIntN(64, value) === value);
}

function hashOf(low: number, high: number): number {
  return mix(low ^ mix(high ^ HIGH_SEED)) >>> 0;
}
