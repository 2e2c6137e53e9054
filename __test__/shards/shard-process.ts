import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

import { serverProgram } from '../../src/families/requests/target-server.js';

/** The options of a shard's start. */
export interface ShardArguments {
  readonly dataDir?: string;
  readonly words?: readonly string[];
}

/** The program of a shard, which can be killed, stopped, and started again at its address. */
export class ShardServer {
  readonly #words: readonly string[];
  #process: ChildProcess | undefined;
  #url = '';

  private constructor(words: readonly string[]) {
    this.#words = words;
  }

  static async start(
    shard: number,
    shards: number,
    { dataDir, words = [] }: ShardArguments = {},
  ): Promise<ShardServer> {
    const folder = dataDir === undefined ? [] : ['--data-dir', dataDir];
    const server = new ShardServer(['--shard', String(shard), '--shards', String(shards), ...folder, ...words]);
    await server.start('127.0.0.1:0');
    return server;
  }

  get url(): string {
    return this.#url;
  }

  /** The resident memory of the server, in bytes. */
  get memory(): number {
    return memoryOf(this.#process!.pid!);
  }

  /** Starts the server again at its address. */
  restart(): Promise<void> {
    return this.start(new URL(this.#url).host);
  }

  /** Kills the server at once, as a failure of the machine would. */
  async kill(): Promise<void> {
    const ended = once(this.#process!, 'exit');
    this.#process!.kill('SIGKILL');
    await ended;
  }

  /** Kills the server, if it runs. */
  async end(): Promise<void> {
    if (this.#process?.exitCode === null && this.#process.signalCode === null) await this.kill();
  }

  /** Stops the server's process, which `resume` continues. */
  async pause(): Promise<void> {
    this.#process!.kill('SIGSTOP');
    // The signal takes effect after a while.
    do await sleep(20);
    while (process.platform === 'linux' && stateOf(this.#process!.pid!) !== 'T');
  }

  /** Continues the server's process after `pause`. */
  resume(): void {
    this.#process!.kill('SIGCONT');
  }

  private async start(listen: string): Promise<void> {
    const server = spawn(serverProgram('shards'), ['shard', '--listen', listen, ...this.#words], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#process = server;
    for await (const line of createInterface({ input: server.stdout })) {
      const url = /^listening on (https?:\/\/.*)$/.exec(line)?.[1];
      if (url === undefined) continue;
      this.#url = url;
      return;
    }
    throw new Error('the shard ended before it listened');
  }
}

/** All shards of a store, each a process of its own. */
export class ShardServers implements AsyncDisposable {
  readonly each: readonly ShardServer[];

  private constructor(each: readonly ShardServer[]) {
    this.each = each;
  }

  static async start(shards: number, options?: ShardArguments): Promise<ShardServers> {
    const starting = Array.from({ length: shards }, (_, shard) => ShardServer.start(shard, shards, options));
    return new ShardServers(await Promise.all(starting));
  }

  get urls(): string[] {
    return this.each.map(({ url }) => url);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.each.map((server) => server.end()));
  }
}

/** The resident memory of a process in bytes, on Linux. */
export function memoryOf(processId: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${processId}/status`, 'utf8'))![1]) * 1024;
}

function stateOf(processId: number): string {
  return /^State:\s+(\w)/m.exec(readFileSync(`/proc/${processId}/status`, 'utf8'))![1]!;
}
