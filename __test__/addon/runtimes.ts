import { findRuntime } from '../../src/host/runtimes.js';
import { isLeftOut } from '../needs.js';
import type { Runner } from './run-script.js';

/** A runtime that is installed. */
export function installed(name: 'bun' | 'deno'): Runner {
  const found = findRuntime(name);
  return 'missing' in found ? {} : { program: found.program, flags: found.args };
}

/** Whether tests of a runtime are to be skipped, as it is not installed. */
export function isMissing(name: 'bun' | 'deno'): boolean {
  const found = findRuntime(name);
  return isLeftOut(name, 'missing' in found ? found.missing : undefined);
}
