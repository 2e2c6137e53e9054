import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { builtModule, inheritedFlags } from '../../../built-module.js';
import { BoundaryError, receivedError, type SentError } from '../../../errors.js';
import { onAbort } from '../../../library/crossing/abort-listeners.js';
import type * as Part from './part.js';

/** A call of one of the part's functions, which takes one argument. */
export interface PartCall {
  readonly type: 'call';
  readonly name: keyof typeof Part;
  readonly argument: unknown;
}

/** Messages to the process of a part. `abort` is for the call under way. */
export type PartMessage = PartCall | { readonly type: 'abort' };

/** Messages of the process of a part: one for each call. */
export type FromPart =
  | { readonly type: 'returned'; readonly value: unknown }
  | { readonly type: 'failed'; readonly error: SentError };

const PROGRAM = fileURLToPath(builtModule(new URL('part-process.js', import.meta.url)));

/** The time that a process has to end by itself once its cell is closed. */
const GRACE_MS = 5000;

/** One process that measures a part of a cell, one call at a time. */
export class PartProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;
  #lost: BoundaryError | undefined;
  #waiting: { resolve(value: unknown): void; reject(error: BoundaryError): void } | undefined;

  constructor() {
    this.#child = fork(PROGRAM, [], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      serialization: 'advanced',
      execArgv: inheritedFlags(),
    });
    this.#child.on('message', (message: FromPart) => this.#receive(message));
    this.#child.once('error', ({ message }) => this.#lose(`can't be started: ${message}`));
    this.#ended = new Promise((resolve) =>
      this.#child.once('close', (code, name) => {
        this.#lose(`ended by ${name ?? `exit code ${code}`}`);
        resolve();
      }),
    );
  }

  /** Calls a function of the part. Throws its error, and `BB_FORK` if the process ends first. */
  async call<Name extends keyof typeof Part>(
    name: Name,
    argument?: Parameters<(typeof Part)[Name]>[0],
    signal?: AbortSignal,
  ): Promise<Awaited<ReturnType<(typeof Part)[Name]>>> {
    signal?.throwIfAborted();
    const abort = (): void => void this.#child.send({ type: 'abort' } satisfies PartMessage, () => {});
    const ignoreSignal = signal && onAbort(signal, abort);
    try {
      const reply = await new Promise((resolve, reject) => {
        if (this.#lost !== undefined) return reject(this.#lost);
        this.#waiting = { resolve, reject };
        this.#child.send({ type: 'call', name, argument } satisfies PartCall, () => {});
      });
      return reply as Awaited<ReturnType<(typeof Part)[Name]>>;
    } finally {
      ignoreSignal?.();
    }
  }

  /** Closes the part, and ends the process: by itself, or after its time of grace. */
  async close(): Promise<void> {
    const grace = setTimeout(() => this.#child.kill('SIGKILL'), GRACE_MS);
    try {
      if (this.#lost === undefined) await this.call('close');
    } finally {
      await this.#ended;
      clearTimeout(grace);
    }
  }

  #receive(message: FromPart): void {
    if (message.type === 'returned') this.#waiting?.resolve(message.value);
    else this.#waiting?.reject(receivedError(message.error));
    this.#waiting = undefined;
  }

  #lose(how: string): void {
    this.#lost ??= new BoundaryError('BB_FORK', `a process that sends requests ${how}`);
    this.#waiting?.reject(this.#lost);
    this.#waiting = undefined;
  }
}
