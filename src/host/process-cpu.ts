import { readFileSync } from 'node:fs';

/** The CPU time of a process in seconds: in its own code, and in the kernel on its behalf. */
export interface ProcessCpu {
  readonly user: number;
  readonly system: number;
}

/** The unit of the kernel's times: hundredths of a second, independent of its own clock. */
export const TICKS_PER_SECOND = 100;

/** The indices of the two times among the fields after the name. */
const USER_FIELD = 11;
const SYSTEM_FIELD = 12;

/**
 * The CPU time of all threads of another process since its start. `undefined` if there is no such process, or the
 * platform does not report it.
 */
export function cpuOfProcess(processId: number): ProcessCpu | undefined {
  let fields: string[];
  try {
    fields = statFields(processId);
  } catch {
    return undefined;
  }
  const user = Number(fields[USER_FIELD]) / TICKS_PER_SECOND;
  const system = Number(fields[SYSTEM_FIELD]) / TICKS_PER_SECOND;
  return Number.isFinite(user) && Number.isFinite(system) ? { user, system } : undefined;
}

/** The fields of the kernel's status of a process after the name of its program. Throws if there is no such process. */
export function statFields(processId: number): string[] {
  const stat = readFileSync(`/proc/${processId}/stat`, 'utf8');
  // The name of the program, in parentheses, may contain spaces and parentheses.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}
