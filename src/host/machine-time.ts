/** The CPU time of the whole machine. It shows what other programs and other machines took from a measurement. */
import { readFileSync } from 'node:fs';

import { sumOf } from '../stats/sum.js';
import { TICKS_PER_SECOND } from './process-cpu.js';

/** CPU times in seconds since the start of the machine, and of this process since its start. */
export interface MachineTime {
  /** The time in which any core worked, for any program. */
  readonly busySeconds: number;
  /** The time in which a core was ready to work, and the hypervisor had given it to another machine. */
  readonly stolenSeconds: number;
  readonly ownSeconds: number;
  /** The time of the clock. */
  readonly atSeconds: number;
}

const MICROSECONDS_PER_SECOND = 1e6;

/** The CPU time that others may take of a sample: as a part of the sample's time, and in seconds, since the kernel counts in ticks. */
const MOST_TAKEN = 0.1;
const MOST_TAKEN_SECONDS = 0.03;

/** The ticks of all cores since the start of the machine, by what the cores did. */
export interface MachineTicks {
  /** In which they did or waited for anything, or were idle. */
  readonly all: number;
  readonly busy: number;
  /** In which the hypervisor had given a core to another machine. Absent: the kernel does not count it. */
  readonly stolen?: number;
}

/** The ticks in a text of `/proc/stat`. `undefined` if it has none. */
export function machineTicks(stat: string | undefined): MachineTicks | undefined {
  const line = /^cpu +([\d ]+)$/m.exec(stat ?? '')?.[1];
  if (line === undefined) return undefined;
  // The time of guests follows. It is part of the time of users.
  const counted = line.trim().split(/ +/).slice(0, 8).map(Number);
  const [user = 0, nice = 0, system = 0, , , interrupts = 0, softInterrupts = 0, stolen] = counted;
  return {
    all: sumOf(counted),
    busy: user + nice + system + interrupts + softInterrupts,
    ...(stolen === undefined ? {} : { stolen }),
  };
}

/** The times now. `undefined` if the system does not report them. */
export function machineTime(): MachineTime | undefined {
  if (process.platform !== 'linux') return undefined;
  const own = process.cpuUsage();
  let ticks: MachineTicks | undefined;
  try {
    ticks = machineTicks(readFileSync('/proc/stat', 'utf8'));
  } catch {
    // The system does not let this process read it.
  }
  return (
    ticks && {
      busySeconds: ticks.busy / TICKS_PER_SECOND,
      stolenSeconds: (ticks.stolen ?? 0) / TICKS_PER_SECOND,
      ownSeconds: (own.user + own.system) / MICROSECONDS_PER_SECOND,
      atSeconds: performance.now() / 1000,
    }
  );
}

/**
 * Whether others took enough CPU time between two moments for a sample in between to be worth taking again. Others are
 * other machines, and other programs unless one of them does the work.
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
