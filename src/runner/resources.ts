import { readFileSync, writeFileSync } from 'node:fs';

/** CPU time in seconds. */
export interface CpuSeconds {
  readonly user: number;
  readonly system: number;
}

/** Reads what a sample costs beside its time. What the platform can't tell is `undefined`. */
export interface ResourceReader {
  /** The CPU time of the calling thread since its start. */
  threadCpu(): CpuSeconds | undefined;
  /** Forgets the largest resident set so far; `false` where that can't be done. */
  resetPeakRss(): boolean;
  /** The largest resident set in bytes, since the last reset where that can be done, else since the process began. */
  peakRss(): number | undefined;
}

const MICROSECONDS_PER_SECOND = 1e6;

/**
 * The reader that needs no addon. Peak memory: on Linux the kernel's high-water mark, which writing `5` to `clear_refs`
 * resets; elsewhere that of the whole life of the process. CPU of the thread: where Node has `process.threadCpuUsage`.
 */
export const nodeResources: ResourceReader = {
  threadCpu() {
    const usage = (process as { threadCpuUsage?: () => NodeJS.CpuUsage }).threadCpuUsage?.();
    if (usage === undefined) return undefined;
    return { user: usage.user / MICROSECONDS_PER_SECOND, system: usage.system / MICROSECONDS_PER_SECOND };
  },

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
