// A hash: @node-rs/xxhash (Rust), xxhash-wasm and xxhashjs, which compute the same 64 bits.
//
//   npm i boundary-bench @node-rs/xxhash xxhash-wasm xxhashjs
//   npx boundary-bench run hash.bench.mjs
import { workload } from 'boundary-bench/bench';
import { xxh64 } from '@node-rs/xxhash';
import createHasher from 'xxhash-wasm';
import xxhashjs from 'xxhashjs';

const { h64Raw } = await createHasher();

export default workload('xxh64', {
  sizes: [16, 256, 4096, 102_400],
  input: (size) => Buffer.from(Array.from({ length: size }, (_, index) => (index * 31) % 256)),
  ways: {
    js: (bytes) => BigInt(`0x${xxhashjs.h64(bytes, 0).toString(16)}`),
    wasm: (bytes) => h64Raw(bytes),
    napi: (bytes) => xxh64(bytes),
  },
});
