/** The CPU time of the whole machine, which shows what other programs and other machines took from a measurement. */
import { readFileSync } from 'node:fs';

/** CPU times in seconds since the start of the machine, and of this process since its start. */
export interface MachineTime {
  /** The time in which any core worked, for whatever program. */
  readonly busySeconds: number;
  /** The time in which a core was ready to work, and the hypervisor had given it to another machine. */
  readonly stolenSeconds: number;
  readonly ownSeconds: number;
  /** The time of the clock. */
  readonly atSeconds: number;
}

/** The unit of the kernel's times: hundredths of a second, whatever its own clock is. */
const TICKS_PER_SECOND = 100;

/** The CPU time that others may take of a sample: as a part of the sample's time, and in seconds, since the kernel counts in ticks. */
const MOST_TAKEN = 0.1;
const MOST_TAKEN_SECONDS = 0.03;

/** The times now; `undefined` where the system does not report them. */
export function machineTime(ownSeconds: number): MachineTime | undefined {
  if (process.platform !== 'linux') return undefined;
  try {
    const [, ...fields] = readFileSync('/proc/stat', 'utf8').split('\n', 1)[0]!.trim().split(/\s+/);
    // Idle and waiting time are not busy; the time of guests is in that of users.
    const [user = 0, nice = 0, system = 0, , , interrupts = 0, softInterrupts = 0, stolen = 0] = fields.map(Number);
    return {
      busySeconds: (user + nice + system + interrupts + softInterrupts) / TICKS_PER_SECOND,
      stolenSeconds: stolen / TICKS_PER_SECOND,
      ownSeconds,
      atSeconds: performance.now() / 1000,
    };
  } catch {
    return undefined;
  }
}

/**
 * Whether others took so much CPU time between two moments that a sample in between is worth taking again: other machines, and other
 * programs, unless the work is done by one of them.
 */
export function isDisturbed(
  before: MachineTime,
  after: MachineTime,
  countsPrograms: boolean,
): { readonly isDisturbed: boolean; readonly stolenSeconds: number } {
  const stolenSeconds = Math.max(0, after.stolenSeconds - before.stolenSeconds);
  const others = after.busySeconds - before.busySeconds - (after.ownSeconds - before.ownSeconds);
  const most = Math.max(MOST_TAKEN_SECONDS, MOST_TAKEN * (after.atSeconds - before.atSeconds));
  return { isDisturbed: stolenSeconds > most || (countsPrograms && others > most), stolenSeconds };
}
