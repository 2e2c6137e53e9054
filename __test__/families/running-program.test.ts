import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

import type { BoundaryError } from '../../src/errors.js';
import { type ProgramStart, RunningProgram } from '../../src/families/running-program.js';

interface Answer {
  readonly type: string;
  readonly message?: string;
  readonly result?: unknown;
}

interface Exchange {
  readonly order: { readonly type: string; readonly repeats?: number };
  readonly bytes?: readonly number[];
  readonly answer?: Answer;
}

const CONVERSATIONS = JSON.parse(
  readFileSync(new URL('../fixtures/protocol.json', import.meta.url), 'utf8'),
) as readonly { readonly name: string; readonly exchanges: readonly Exchange[] }[];

const PROGRAM = fileURLToPath(new URL('conversation.mjs', import.meta.url));

/** Gives the order of the protocol that the exchange has. */
async function give(program: RunningProgram, { order }: Exchange): Promise<unknown> {
  if (order.type === 'prepare') return program.prepare();
  if (order.type === 'sample') return program.sample(order.repeats!);
  if (order.type === 'result') return program.result();
  return program.close();
}

/** The start of the program of a conversation. */
function startOf(name: string, { order, bytes }: Exchange): ProgramStart {
  const { type: _, ...opening } = order;
  return {
    program: process.execPath,
    arguments: [PROGRAM, name],
    opening,
    bytes: bytes && Uint8Array.from(bytes),
  };
}

/** The value that an order resolves to, or the code and the message of its error. */
async function outcomeOf(given: Promise<unknown>): Promise<unknown> {
  try {
    const value = await given;
    return value instanceof RunningProgram ? undefined : value;
  } catch (error) {
    const { code, message } = error as BoundaryError;
    return { code, message };
  }
}

function expectedOf(answer: Answer | undefined): unknown {
  if (answer?.type === 'result') return answer.result;
  if (answer?.type === 'sample') return answer;
  if (answer?.type !== 'failed') return undefined;
  const [, code = 'BB_PROGRAM', text] = /^(?:\[(\w+)\] )?(.*)$/.exec(answer.message!)!;
  return { code, message: expect.stringContaining(text!) as string };
}

describe('a program that runs', () => {
  // The crate of programs in Rust is tested by the same conversations.
  it.each(CONVERSATIONS)('$name', async ({ name, exchanges: [open, ...later] }) => {
    const program = RunningProgram.start(startOf(name, open!));
    expect(await outcomeOf(program)).toEqual(expectedOf(open!.answer));
    for (const exchange of later) {
      expect(await outcomeOf(give(await program, exchange))).toEqual(expectedOf(exchange.answer));
    }
  });
});
