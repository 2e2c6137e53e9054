// A driver: @valkey/valkey-glide (Rust) and ioredis, which get the same value of a Redis, one call after the other.
//
//   npm i boundary-bench @valkey/valkey-glide ioredis
//   REDIS_URL=redis://127.0.0.1:6379 npx boundary-bench run get.bench.mjs
import { workload } from 'boundary-bench/bench';
import { GlideClient } from '@valkey/valkey-glide';
import { Redis } from 'ioredis';

const url = new URL(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379');
const [host, port] = [url.hostname, Number(url.port || 6379)];
const connected = { redis: undefined, glide: undefined };

/** Connects the clients once, in the processes that use them. */
async function connect() {
  connected.redis ??= new Redis(port, host);
  connected.glide ??= await GlideClient.createClient({ addresses: [{ host, port }] });
}

export default workload('get', {
  sizes: [16, 1024, 65_536],
  input: async (size) => {
    await connect();
    const key = `bench:${size}`;
    await connected.redis.set(key, 'x'.repeat(size));
    return key;
  },
  ways: {
    js: (key) => connected.redis.get(key),
    napi: (key) => connected.glide.get(key),
  },
});
