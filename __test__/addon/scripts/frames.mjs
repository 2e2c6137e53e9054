/**
 * Keeps the memory of frames in every way that JavaScript can, fills recycled memory with other frames, and prints for each case
 * whether the kept values are unchanged. Run with --expose-gc.
 */
import { pbkdf2 } from 'node:crypto';
import { close, open, readFileSync, rmSync, write } from 'node:fs';
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer as bytesOfStream } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

import { addon } from '../../../dist/addon.js';
import { connect as connectTo } from '../../../dist/index.js';
import { openEngine } from '../../../dist/library/engine/open-engine.js';

const engine = await openEngine('embedded:');
const frame = async (n) => (await engine.query(`SELECT ${n}::BIGINT x FROM range(65536)`)).next();
/** A frame of more bytes than a socket buffers while its peer does not read. */
const largeFrame = async (n) => (await engine.query(`SELECT ${n}::BIGINT x FROM range(${1 << 22})`, 1 << 22)).next();
const smallFrame = async (n) => (await engine.query(`SELECT ${n}::BIGINT x FROM range(1000)`)).next();

/** Moves the memory of a buffer into another buffer. Before Node 22 only a stream does that. */
async function moved(buffer) {
  if (buffer.transfer !== undefined) return buffer.transfer();
  const source = { type: 'bytes', start: (controller) => controller.enqueue(new Uint8Array(buffer)) };
  return (await new ReadableStream(source).getReader().read()).value.buffer;
}

/** Takes recycled memory for new frames, and so writes other rows there. */
async function takeMemory(make = frame) {
  const kept = [];
  for (let round = 0; round < 8; round++) {
    gc();
    await nextTurn();
    kept.push(await make(222));
  }
  return kept;
}

/** Keeps the threads of libuv's pool busy, so that the next file operation waits. */
function busyThreads() {
  return Promise.all(Array.from({ length: 4 }, () => promisify(pbkdf2)('', '', 400_000, 64, 'sha512')));
}

function bytesOf(lent) {
  return lent instanceof ArrayBuffer
    ? new Uint8Array(lent)
    : new Uint8Array(lent.buffer, lent.byteOffset, lent.byteLength);
}

/** Whether a file gets the bytes that a frame held when its write began, though the frame is given away meanwhile. */
async function isWrittenWhole(make, giveAway) {
  const path = join(tmpdir(), `boundary-bench-frames-${process.pid}`);
  const file = await promisify(open)(path, 'w');
  const [expected, writing, busy] = await (async () => {
    const lent = await make(111);
    const view = bytesOf(lent);
    const copy = Buffer.from(view);
    const threads = busyThreads();
    const written = new Promise((resolve, reject) => {
      write(file, view, (error, bytes) => (error ? reject(error) : resolve(bytes)));
    });
    await giveAway(lent);
    return [copy, written, threads];
  })();
  const kept = await takeMemory(make);
  const bytes = await writing;
  await busy;
  await promisify(close)(file);
  const found = readFileSync(path);
  rmSync(path);
  return kept.length === 8 && bytes === expected.length && found.equals(expected);
}

/**
 * Whether a reader that begins late gets the bytes that a frame held when it was sent, though it was released
 * meanwhile.
 */
async function isSentWhole(make, send, receive) {
  const expected = await (async () => {
    const lent = await make(111);
    const copy = Buffer.from(new Uint8Array(lent).slice());
    send(new Uint8Array(lent));
    await nextTurn();
    addon.releaseFrame(lent);
    return copy;
  })();
  const kept = await takeMemory(make);
  return kept.length === 8 && (await receive()).equals(expected);
}

const WORKERS = {
  /** A thread that ends while another thread has the memory. */
  async moved(make = frame) {
    const lent = await make(111);
    const other = await moved(lent);
    parentPort.postMessage(other, [other]);
  },
  movedLarge: () => WORKERS.moved(largeFrame),
  /** A thread that ends with frames that it has read, released and recycled. */
  async ends() {
    const reader = await engine.query(`SELECT 333::BIGINT x FROM range(${60 * 65536})`);
    globalThis.seen = [];
    for (let round = 0; round < 60; round++) globalThis.seen.push(await reader.next());
    globalThis.seen.slice(20, 40).forEach((lent) => addon.releaseFrame(lent));
    globalThis.seen.slice(40).forEach((lent) => addon.recycleFrame(lent));
    parentPort.postMessage(0, []);
  },
};

/** The message that a worker posts, once the worker has ended. */
async function postedBy(workerData) {
  const worker = new Worker(new URL(import.meta.url), { workerData });
  const ended = new Promise((resolve, reject) => worker.once('exit', resolve).once('error', reject));
  const posted = await new Promise((resolve) => worker.once('message', resolve));
  await ended;
  return posted;
}

const CASES = {
  'moved to another thread by one that ends': async () => {
    const bytes = await postedBy('moved');
    const kept = await takeMemory();
    return kept.length === 8 && !new BigInt64Array(bytes).includes(222n);
  },
  'moved to another thread by one that ends, large': async () => {
    const bytes = await postedBy('movedLarge');
    const kept = await takeMemory(largeFrame);
    return kept.length === 8 && !new BigInt64Array(bytes).includes(222n);
  },
  'moved and dropped': async () => {
    const other = await moved(await frame(111));
    const kept = await takeMemory();
    return kept.length === 8 && !new BigInt64Array(other).includes(222n);
  },
  'moved, then released': async () => {
    const other = await moved(await frame(111));
    addon.releaseFrame(other);
    return other.byteLength === 0;
  },
  'released while a file gets it': () => isWrittenWhole(frame, (lent) => addon.releaseFrame(lent)),
  'released while a file gets it, small': () => isWrittenWhole(smallFrame, (lent) => addon.releaseFrame(lent)),
  'a released chunk of which a file gets a column': async () => {
    const connection = await connectTo('embedded:');
    const held = [];
    const make = async (n) => {
      for await (const chunk of connection.executeQueryColumnar(`SELECT ${n}::BIGINT x FROM range(65536)`)) {
        held.push(chunk);
        return chunk.column('x');
      }
    };
    return isWrittenWhole(make, () => held[0].release());
  },
  'moved and dropped while a file gets it': () => isWrittenWhole(frame, async (lent) => void (await moved(lent))),
  'released while a socket sends it': async () => {
    const server = createServer().listen(0, '127.0.0.1');
    const accepted = new Promise((resolve) => server.once('connection', (socket) => resolve(socket.pause())));
    await new Promise((resolve) => server.once('listening', resolve));
    const client = connect(server.address().port, '127.0.0.1');
    const reader = await accepted;
    const isWhole = await isSentWhole(
      largeFrame,
      (view) => client.end(view),
      () => bytesOfStream(reader),
    );
    server.close();
    return isWhole;
  },
  'released while a stream of HTTP/2 sends it': async () => {
    const server = createHttp2Server().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const accepted = new Promise((resolve) => server.once('stream', resolve));
    const session = connectHttp2(`http://127.0.0.1:${server.address().port}`);
    const request = session.request({ ':path': '/' });
    request.on('response', () => {});
    const stream = await accepted;
    stream.respond({ ':status': 200 });
    const isWhole = await isSentWhole(
      frame,
      (view) => stream.end(view),
      () => bytesOfStream(request),
    );
    session.close();
    server.close();
    return isWhole;
  },
  'released by thousands without a wait': async () => {
    const place = addon.RawShardStore.inMemory().place;
    const shards = await addon.RawShardClient.connect([place]);
    const keys = new Int32Array(2048).map((_, index) => index);
    for (let round = 0; round < 200; round++) addon.releaseFrame(shards.multiGetNow(keys).rows);
    const { rss } = process.memoryUsage();
    for (let round = 0; round < 3000; round++) addon.releaseFrame(shards.multiGetNow(keys).rows);
    return process.memoryUsage().rss - rss < 64 << 20;
  },
  'of threads that end': async () => {
    for (let round = 0; round < 2; round++) await postedBy('ends');
    const { rss } = process.memoryUsage();
    // Each worker has 30 MiB at its end, of which the newest frame may not be recycled.
    for (let round = 0; round < 12; round++) await postedBy('ends');
    return process.memoryUsage().rss - rss < 64 << 20;
  },
  recycled: async () => {
    const first = await frame(111);
    addon.recycleFrame(first);
    addon.recycleFrame(first);
    const second = await frame(222);
    return first.byteLength === 0 && new BigInt64Array(second).includes(222n);
  },
};

if (isMainThread) {
  const outcomes = {};
  for (const [name, run] of Object.entries(CASES)) {
    if (process.argv.length > 2 && !process.argv.includes(name)) continue;
    outcomes[name] = await run();
  }
  console.log(JSON.stringify(outcomes, null, 2));
  process.exit(0);
}
await WORKERS[workerData]();
