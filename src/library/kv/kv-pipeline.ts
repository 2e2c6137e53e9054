import { types } from 'node:util';

import { BoundaryError, invalidArgument } from '../../errors.js';
import type { WorkOptions } from '../crossing/cancellation.js';
import { type KvData, ownData } from './kv-submission.js';
import type { KvReplies } from './kv-values.js';

/** The function that sends the commands of a pipeline. */
type Execute = (counts: readonly number[], args: readonly KvData[], options?: WorkOptions) => Promise<KvReplies>;

/**
 * Commands that are not answered by exactly one reply in the client's protocol: further replies would be taken for those of the
 * next commands.
 */
const OTHERWISE_ANSWERED = new Set(
  'SUBSCRIBE PSUBSCRIBE SSUBSCRIBE UNSUBSCRIBE PUNSUBSCRIBE SUNSUBSCRIBE MONITOR SYNC PSYNC HELLO'.split(' '),
);

/**
 * Commands that are collected, then sent together. They run in order, but not atomically: commands of others may run in between.
 */
export class KvPipeline {
  readonly #execute: Execute;
  readonly #counts: number[] = [];
  readonly #args: KvData[] = [];

  /** @internal Use `KvClient.pipeline`. */
  constructor(execute: Execute) {
    this.#execute = execute;
  }

  /** The number of commands. */
  get length(): number {
    return this.#counts.length;
  }

  /** Adds a `GET`: its reply is the value of the key, or null. */
  get(key: KvData): this {
    this.#args.push('GET', key);
    this.#counts.push(2);
    return this;
  }

  /** Adds a `SET` of a key to a value. */
  set(key: KvData, value: KvData): this {
    this.#args.push('SET', key, value);
    this.#counts.push(3);
    return this;
  }

  /**
   * Adds any command that is answered by one reply: its name and its arguments. Throws `BB_UNSUPPORTED` for subscriptions,
   * `MONITOR`, `HELLO`, `CLIENT REPLY` and the like.
   */
  command(name: string, ...args: KvData[]): this {
    // Copies, so that the bytes checked are the bytes sent, even if the caller changes the memory.
    const command = ownData(name);
    if (args.length > 0) args[0] = ownData(args[0]!);
    checkCommand(command, args[0]);
    this.#args.push(command, ...args);
    this.#counts.push(args.length + 1);
    return this;
  }

  /** Sends the commands; resolves to one reply per command. The pipeline is then empty, and may be used again. */
  async execute(options?: WorkOptions): Promise<KvReplies> {
    if (this.#counts.length === 0) throw invalidArgument('the pipeline has no commands');
    return this.#execute(this.#counts.splice(0), this.#args.splice(0), options);
  }
}

function checkCommand(name: KvData, first: KvData | undefined): void {
  const command = capitals(name);
  if (OTHERWISE_ANSWERED.has(command) || (command === 'CLIENT' && capitals(first) === 'REPLY')) {
    throw new BoundaryError('BB_UNSUPPORTED', `${command} is not answered by one reply, as a pipeline needs it`);
  }
}

function capitals(word: KvData | undefined): string {
  if (typeof word === 'string') return word.toUpperCase();
  return types.isUint8Array(word) ? Buffer.from(word).toString('latin1').toUpperCase() : '';
}
