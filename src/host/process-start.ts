import { execFileSync } from 'node:child_process';

import { statFields } from './process-cpu.js';

/** The index of the start among the fields after the name, in ticks since the machine was started. */
const START_FIELD = 19;

/**
 * When a process was started, as the system writes it: two processes that had the same id, one after the other, differ in it.
 * `undefined` if there is no such process.
 */
export function startOfProcess(processId: number): string | undefined {
  try {
    if (process.platform !== 'linux') {
      return (
        execFileSync('ps', ['-o', 'lstart=', '-p', String(processId)], { stdio: 'pipe' })
          .toString()
          .trim() || undefined
      );
    }
    return statFields(processId)[START_FIELD];
  } catch {
    return undefined;
  }
}
