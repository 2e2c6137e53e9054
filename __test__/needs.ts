/**
 * The needs of tests that a machine may lack: a server, a program, a feature of the kernel. `needs.json` has a word for each
 * need and the command that gets it; `native/kernel/src/testing/need.rs` is this rule for tests in Rust. Tests whose need is
 * missing are skipped, which is reported on the standard error stream and in the file that `BOUNDARY_BENCH_SKIPPED` names.
 * They fail instead if `BOUNDARY_BENCH_REQUIRE` has the word.
 */
import { spawnSync } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { expect } from 'vitest';

import { crossing } from '../src/crossing-addon.js';
import { findHyperd } from '../src/host/hyperd.js';
import { findSail } from '../src/host/sail.js';
import { isRequired, needs } from './needs.mjs';

/** A word of `needs.json`. */
export type Need = keyof typeof needs;

/** The reason why a need is missing; `undefined` if it is not. */
type Why = string | undefined;

/** The finder of each need that can be looked for synchronously. */
const FINDERS = {
  hyperd: (): Why => {
    const hyperd = findHyperd();
    return 'missing' in hyperd ? hyperd.missing : undefined;
  },
  sail: (): Why => {
    const sail = findSail();
    return 'missing' in sail ? sail.missing : undefined;
  },
  redis: () => whyNoServer('redis'),
  mysql: () => whyNoServer('mysql'),
  python: () => whyNoProgram('python3', '-m', 'pip', '--version'),
  git: () => whyNoProgram('git', '--version'),
  chromium: () => whyNoProgram('chromium', '--version'),
} satisfies Partial<Record<Need, () => Why>>;

/** Whether `lacks` finds out by itself whether a need is there. */
export function isFound(need: string): need is keyof typeof FINDERS {
  return Object.hasOwn(FINDERS, need);
}

/**
 * Whether tests with this need are to be skipped: `describe.skipIf(lacks('redis'))`. It throws if the need is required but
 * missing, and if a word is unknown.
 */
export function lacks(need: keyof typeof FINDERS): boolean {
  return isLeftOut(need, FINDERS[need]());
}

/**
 * As `lacks`, for a need that changes what other tests of the file expect. When it is there, all of them run again, also those that have
 * passed without it.
 */
export function lacksForFile(need: keyof typeof FINDERS): boolean {
  return isLeftOut(need, FINDERS[need](), true);
}

/**
 * As `lacks`, for a need that the caller has looked for; `why`: the reason why it is missing, or nothing if it is not. `changesFile`: as for
 * `lacksForFile`.
 */
export function isLeftOut(need: Need, why: string | null | undefined, changesFile = false): boolean {
  const required = isRequired(need);
  if (why === undefined || why === null) return false;
  const { what, get } = needs[need];
  if (required) {
    throw new Error(`BOUNDARY_BENCH_REQUIRE names ${need} (${what}), which is not there: ${why}\nget it by: ${get}`);
  }
  const file = expect.getState().testPath ?? '';
  process.stderr.write(`SKIPPED: tests of ${file} (${need}): ${why}\n`);
  const list = process.env['BOUNDARY_BENCH_SKIPPED'];
  // The line is one write, since other processes append theirs.
  if (list !== undefined && list !== '') {
    appendFileSync(list, `${JSON.stringify({ need, why, file, changesFile: changesFile || undefined })}\n`);
  }
  return true;
}

function whyNoServer(kind: 'redis' | 'mysql'): Why {
  try {
    crossing.PrivateServer.find(kind as Parameters<typeof crossing.PrivateServer.find>[0]);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

function whyNoProgram(program: string, ...words: readonly string[]): Why {
  const { status, error, stderr } = spawnSync(program, words, { encoding: 'utf8' });
  if (status === 0) return undefined;
  return error === undefined ? stderr.trim() || `${program} ends with ${status}` : error.message;
}
