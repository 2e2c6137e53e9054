/**
 * A client of your own for the `kv` family, which wraps ioredis: `boundary-bench run --family kv --client examples/kv-client.mjs` measures
 * it next to the clients of the package. Each method resolves with the answer. Keys and values are strings.
 */
import { Redis } from 'ioredis';

export default {
  /** Connects to the server of the run. Each connection of a cell is one of these. */
  async connect(url) {
    const redis = new Redis(url, { lazyConnect: true });
    await redis.connect();
    return {
      get: (key) => redis.get(key),
      set: (key, value) => redis.set(key, value),
      /** Many single commands, in this client's fastest way. */
      async getMany(keys) {
        const pipeline = redis.pipeline();
        for (const key of keys) pipeline.get(key);
        return (await pipeline.exec()).map(([error, value]) => {
          if (error) throw error;
          return value;
        });
      },
      async setMany(keys, values) {
        const pipeline = redis.pipeline();
        keys.forEach((key, index) => pipeline.set(key, values[index]));
        for (const [error] of await pipeline.exec()) if (error) throw error;
      },
      mget: (keys) => redis.mget(keys),
      mset: (keys, values) => redis.mset(keys.flatMap((key, index) => [key, values[index]])),
      close: async () => redis.disconnect(),
    };
  },
};
