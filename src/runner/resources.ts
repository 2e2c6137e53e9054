import { readFileSync, writeFileSync } from 'node:fs';

import { type ThreadTimes, threadTimes } from '../families/working-threads.js';
import type { ProcessCpu } from '../host/process-cpu.js';

/** The CPU time in seconds of what Node reports in microseconds. */
export function cpuSeconds({ user, system }: ProcessCpu): ProcessCpu {
  return { user: user / MICROSECONDS_PER_SECOND, system: system / MICROSECONDS_PER_SECOND };
}

/** Reads a sample's costs other than its time. A figure that the platform does not report is `undefined`. */
export interface ResourceReader {
  /** The CPU time of the calling thread since its start. */
  threadCpu(): ProcessCpu | undefined;
  /** The minor page faults of the process since its start. */
  minorFaults(): number | undefined;
  /** The CPU times of the process's threads since their start. */
  threadTimes(): ThreadTimes | undefined;
  /** Resets the largest resident set. Returns `false` if that is not possible. */
  resetPeakRss(): boolean;
  /** The largest resident set in bytes, since the last reset if there was one, else since the start of the process. */
  peakRss(): number | undefined;
}

const MICROSECONDS_PER_SECOND = 1e6;

/**
 * The reader without the addon. Peak memory on Linux is the kernel's high-water mark: writing `5` to `clear_refs` resets it.
 * Elsewhere it is the peak of the whole process lifetime. The CPU time of the thread is known if Node has `process.threadCpuUsage`.
 */
export const nodeResources: ResourceReader = {
  threadCpu() {
    const usage = (process as { threadCpuUsage?: () => NodeJS.CpuUsage }).threadCpuUsage?.();
    return usage && cpuSeconds(usage);
  },

  minorFaults: () => process.resourceUsage?.().minorPageFault,

  threadTimes,

  resetPeakRss() {
    if (process.platform !== 'linux') return false;
    try {
      writeFileSync('/proc/self/clear_refs', '5');
      return true;
    } catch {
      return false;
    }
  },

  peakRss() {
    return highWaterMark() ?? process.resourceUsage().maxRSS * 1024;
  },
};

function highWaterMark(): number | undefined {
  if (process.platform !== 'linux') return undefined;
  try {
    const kibibytes = /^VmHWM:\s*(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
    return kibibytes === undefined ? undefined : Number(kibibytes) * 1024;
  } catch {
    return undefined;
  }
}
