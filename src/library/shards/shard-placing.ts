/** The shard of a key, in 32-bit arithmetic, as `proto/boundary_bench/shards/v1/shards.proto` describes it. */

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

/** The shard of a key, among `shards` shards. */
export function shardOf(key: number | bigint, shards: number): number {
  return Math.floor((keyHash(key) * shards) / WORD);
}

function hashOf(low: number, high: number): number {
  return mix(low ^ mix(high ^ HIGH_SEED)) >>> 0;
}
