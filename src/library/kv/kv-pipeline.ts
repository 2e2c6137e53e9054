import { types } from 'node:util';

import { addon } from '../../addon.js';
import { explained, invalidArgument } from '../../errors.js';
import type { WorkOptions } from '../crossing/cancellation.js';
import { CHECKED_PIPELINE, type KvData, ownData, PIPELINE } from './kv-submission.js';
import type { KvReplies } from './kv-values.js';

/** The function that sends the commands of a pipeline. */
type Execute = (
  kind: typeof PIPELINE | typeof CHECKED_PIPELINE,
  counts: readonly number[],
  args: readonly KvData[],
  options?: WorkOptions,
) => Promise<KvReplies>;

/** The commands that the addon looks at, by their names in capitals. Read at the first use. */
let stateful: ReadonlySet<string> | undefined;

/**
 * Commands that are collected, then sent together. They run in order, but not atomically: commands of others may run in between.
 *
 * A transaction runs atomically: `MULTI`, its commands, and `EXEC` in one pipeline, with `WATCH` before it if needed. In a cluster
 * its keys lie in one slot. A cluster whose slots move refuses commands. They are sent again unless that would change the order of
 * the commands on a key, or they are scripts that may have written: those have the server's error. Many callers share the connection, so a pipeline leaves it as it was. A pipeline that begins a
 * transaction without its end is refused as a whole, and nothing is sent.
 */
export class KvPipeline {
  readonly #execute: Execute;
  readonly #counts: number[] = [];
  readonly #args: KvData[] = [];
  /** Whether a command may change the state of the connection. */
  #isChecked = false;

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
   * `MONITOR`, `CLIENT REPLY` and the like. Also throws it for commands that would change the connection for its other callers:
   * `SELECT`, `AUTH`, `HELLO`, `RESET`, `QUIT`, `CLIENT TRACKING`, `READONLY` and the like. A command that blocks, such as `BLPOP`,
   * delays the later calls on its connection: give it a client of its own.
   */
  command(name: string, ...args: KvData[]): this {
    // Copies, so that the bytes checked are the bytes sent, even if the caller changes the memory.
    const command = ownData(name);
    if (args.length > 0) args[0] = ownData(args[0]!);
    const word = capitals(command);
    stateful ??= new Set(addon.kvStatefulCommands());
    if (stateful.has(word)) {
      explained(() => addon.kvCheckCommand(word, capitals(args[0])));
      this.#isChecked = true;
    }
    this.#args.push(command, ...args);
    this.#counts.push(args.length + 1);
    return this;
  }

  /**
   * Sends the commands. Resolves to one reply per command. The pipeline is then empty, and may be used again. Rejects with
   * `BB_UNSUPPORTED`, and sends nothing, if a `MULTI` or `WATCH` has no end in the pipeline. In a cluster it does the same if the
   * keys of a transaction lie in several slots, or if a command concerns one server, such as `SCAN`.
   */
  async execute(options?: WorkOptions): Promise<KvReplies> {
    if (this.#counts.length === 0) throw invalidArgument('the pipeline has no commands');
    const kind = this.#isChecked ? CHECKED_PIPELINE : PIPELINE;
    this.#isChecked = false;
    return this.#execute(kind, this.#counts.splice(0), this.#args.splice(0), options);
  }
}

function capitals(word: KvData | undefined): string {
  if (typeof word === 'string') return word.toUpperCase();
  return types.isUint8Array(word) ? Buffer.from(word).toString('latin1').toUpperCase() : '';
}
