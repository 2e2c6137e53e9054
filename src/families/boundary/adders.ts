/** Additions that another thread or process makes: what leaving this one costs. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type Server, type Socket, createServer } from 'node:net';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';

import { builtModule } from '../../built-module.js';
import { TemporaryFolder } from '../temporary-folder.js';
import { ANSWER_BYTES, REQUEST_BYTES, Records } from './adder-socket.js';
import { SharedNumbers } from './shared-numbers.js';

/** An addition that is made elsewhere. */
export interface Adder<Sum extends number | Promise<number>> {
  add(left: number, right: number): Sum;
  close(): Promise<void>;
}

/** Answers in the order in which they were asked for. */
export class Waiting<Answer> {
  readonly #takers: ((answer: Answer) => void)[] = [];
  #next = 0;

  ask(): Promise<Answer> {
    return new Promise((resolve) => this.#takers.push(resolve));
  }

  answer(answer: Answer): void {
    const take = this.#takers[this.#next];
    this.#next += 1;
    if (this.#next === this.#takers.length) {
      this.#takers.length = 0;
      this.#next = 0;
    }
    take?.(answer);
  }
}

/** A worker thread that gets the numbers as messages. */
export async function openWorkerAdder(): Promise<Adder<Promise<number>>> {
  const worker = await startWorker('adder-thread', null);
  const waiting = new Waiting<number>();
  worker.on('message', (sum: number) => waiting.answer(sum));
  return {
    add(left, right) {
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker thread has no origin.
      worker.postMessage([left, right]);
      return waiting.ask();
    },
    close: async () => void (await worker.terminate()),
  };
}

/** A worker thread that shares memory with this one, which waits for it. */
export async function openSharedAdder(): Promise<Adder<number>> {
  const shared = new SharedNumbers();
  const worker = await startWorker('adder-thread', shared.memory);
  return {
    add: (left, right) => shared.add(left, right),
    async close() {
      shared.close();
      await worker.terminate();
    },
  };
}

/** Starts a module of this folder in a worker thread, and waits for its first message. */
export async function startWorker(module: string, data: unknown): Promise<Worker> {
  const worker = new Worker(moduleOf(module), { workerData: data });
  await once(worker, 'message');
  return worker;
}

/** A child process behind a Unix socket. */
export async function openProcessAdder(): Promise<Adder<Promise<number>>> {
  const { socket, close } = await startProcess('adder-process', []);
  const waiting = new Waiting<number>();
  const answers = new Records(ANSWER_BYTES);
  socket.on('data', (piece) => answers.add(piece, (answer) => waiting.answer(answer.readDoubleLE(0))));
  return {
    add(left, right) {
      const request = Buffer.allocUnsafe(REQUEST_BYTES);
      request.writeDoubleLE(left, 0);
      request.writeDoubleLE(right, 8);
      socket.write(request);
      return waiting.ask();
    },
    close,
  };
}

/** A child process that has connected to this one. */
export interface ConnectedProcess {
  readonly socket: Socket;
  close(): Promise<void>;
}

/** Starts a module of this folder in a child process, which connects to the socket whose path is its first argument. */
export async function startProcess(module: string, args: readonly string[]): Promise<ConnectedProcess> {
  const folder = await TemporaryFolder.create();
  const server = createServer();
  let child: ChildProcess | undefined;
  const close = async (): Promise<void> => {
    child?.kill();
    await new Promise((resolve) => server.close(resolve));
    await folder.remove();
  };
  try {
    const path = socketPath(folder.path);
    server.listen(path);
    await once(server, 'listening');
    child = spawn(process.execPath, [fileURLToPath(moduleOf(module)), path, ...args], { stdio: 'ignore' });
    const socket = await accepted(server, child);
    return {
      socket,
      async close() {
        socket.destroy();
        await close();
      },
    };
  } catch (thrown) {
    await close();
    throw thrown;
  }
}

/** The path of a socket: in a folder of its own, or where Windows has its named pipes, by the name of that folder. */
function socketPath(folder: string): string {
  return process.platform === 'win32' ? `\\\\.\\pipe\\${basename(folder)}` : join(folder, 'adder.sock');
}

async function accepted(server: Server, child: ChildProcess): Promise<Socket> {
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the process that adds ended with ${code} before it connected`);
  });
  const [socket] = (await Promise.race([once(server, 'connection'), ended])) as [Socket];
  // A later end is caused by `close`.
  ended.catch(() => {});
  socket.setNoDelay();
  return socket;
}

/** A module of this folder. */
function moduleOf(name: string): URL {
  return builtModule(new URL(`${name}.js`, import.meta.url));
}
