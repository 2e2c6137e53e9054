/** Whether a machine is fit to measure on: what disturbs measurements, by what the system says before and after a probe. */
import { readdir } from 'node:fs/promises';
import os from 'node:os';
import { join } from 'node:path';
import type { HostContext } from '../records/host.js';
import { DEFAULT_MARGIN, verdictOf } from '../stats/ratio-interval.js';
import { cgroupState } from './cgroup.js';
import { hostContext } from './machine.js';
import { machineTicks } from './machine-time.js';
import { sumOf } from '../stats/sum.js';
import type { Noise } from './noise-probe.js';
import { readText } from './system-file.js';

/** One thing that was looked at. */
export interface FitnessCheck {
  readonly name: string;
  readonly isFit: boolean;
  readonly found: string;
  /** Advice on what to do about it. Absent if it is as it should be. */
  readonly advice?: string;
}

/** Counts of the system since its start. Figures that it does not count are absent. */
interface Counters {
  /** Ticks of all cores, and the part of them that other guests of the machine got. */
  readonly ticks?: number;
  readonly stolenTicks?: number;
  /** How often the quota of the control group was used up. */
  readonly throttled?: number;
  /** How often a core was slowed down by heat. */
  readonly overheated?: number;
  /** Pages read from and written to swap. */
  readonly swappedPages?: number;
}

/** The cores that other programs may keep busy. */
const MOST_LOAD = 0.5;
/** The share of time that other guests may take. */
const MOST_STOLEN = 0.01;
/** The spread of equal samples that a quiet machine may have. */
const MOST_SPREAD = 0.1;
/** The memory that a main run needs, with a second copy of its rows. */
const LEAST_MEMORY = 2 * 1024 ** 3;

const GIBIBYTE = 1024 ** 3;
const QUIET = 'end other programs, or wait until they are done';

export interface FitnessOptions {
  /** Keeps the machine busy for a while, and says what it found of its noise. */
  readonly probe: () => Promise<Noise>;
  /** The folder with `/proc` and `/sys`. */
  readonly root?: string;
  /** The load of the last minute. */
  readonly load?: number;
}

/** Looks at the machine before and after a probe of its noise. */
export async function checkFitness(options: FitnessOptions): Promise<readonly FitnessCheck[]> {
  const { probe, root = '/', load = os.loadavg()[0]! } = options;
  const host = await hostContext(root);
  const before = await counters(root);
  const noise = await probe();
  const after = await counters(root);
  const grown = (name: keyof Counters): number | undefined => {
    const [from, to] = [before[name], after[name]];
    return from === undefined || to === undefined ? undefined : to - from;
  };
  return [
    loadCheck(load, host),
    ...governorCheck(host),
    ...happened(
      'throttling',
      grown('throttled'),
      'the limit of the CPUs was reached',
      'raise the limit of the container',
    ),
    ...happened('heat', grown('overheated'), 'a core was slowed down by heat', 'cool it, or wait'),
    ...stolenCheck(grown('stolenTicks'), grown('ticks')),
    ...happened('swap', grown('swappedPages'), 'pages were swapped', 'free memory, or turn swap off: sudo swapoff -a'),
    await memoryCheck(root),
    noiseCheck(noise),
  ];
}

function loadCheck(load: number, { logicalCores }: HostContext): FitnessCheck {
  const found = `${load.toFixed(2)} of ${logicalCores} cores busy in the last minute`;
  return load <= MOST_LOAD ? good('load', found) : bad('load', found, QUIET);
}

function governorCheck({ governor }: HostContext): FitnessCheck[] {
  if (governor === undefined) return [];
  const advice = 'sudo cpupower frequency-set --governor performance';
  return [governor === 'performance' ? good('governor', governor) : bad('governor', governor, advice)];
}

/** The check of something that must not happen. None if the system does not count it. */
function happened(name: string, times: number | undefined, what: string, advice: string): FitnessCheck[] {
  if (times === undefined) return [];
  return [times === 0 ? good(name, 'none') : bad(name, `${what}, ${times} times in the probe`, advice)];
}

function stolenCheck(stolen: number | undefined, ticks: number | undefined): FitnessCheck[] {
  if (stolen === undefined || ticks === undefined || ticks === 0) return [];
  const share = stolen / ticks;
  const found = `${(share * 100).toFixed(1)}% of the time went to other guests of the machine`;
  return [share <= MOST_STOLEN ? good('steal', found) : bad('steal', found, 'use a machine of your own')];
}

async function memoryCheck(root: string): Promise<FitnessCheck> {
  const kibibytes = /^MemAvailable:\s+(\d+) kB/m.exec((await readText(join(root, 'proc/meminfo'))) ?? '')?.[1];
  const { memoryLeft = Infinity } = await cgroupState(root);
  const bytes = Math.min(kibibytes === undefined ? os.freemem() : Number(kibibytes) * 1024, memoryLeft);
  const found = `${(bytes / GIBIBYTE).toFixed(1)} GiB available`;
  return bytes >= LEAST_MEMORY ? good('memory', found) : bad('memory', found, 'free memory, or measure fewer rows');
}

function noiseCheck(noise: Noise): FitnessCheck {
  const percent = (part: number): string => `${(part * 100).toFixed(1)}%`;
  const interval = `${noise.low.toFixed(3)}–${noise.high.toFixed(3)}`;
  const found = `A/A ${noise.ratio.toFixed(3)} (${interval}), equal samples ${percent(noise.spread)} apart`;
  const isQuiet = verdictOf(noise, DEFAULT_MARGIN) === 'equivalent' && noise.spread <= MOST_SPREAD;
  return isQuiet ? good('noise', found) : bad('noise', found, QUIET);
}

function good(name: string, found: string): FitnessCheck {
  return { name, isFit: true, found };
}

function bad(name: string, found: string, advice: string): FitnessCheck {
  return { name, isFit: false, found, advice };
}

async function counters(root: string): Promise<Counters> {
  const [stat, paging] = await Promise.all(['proc/stat', 'proc/vmstat'].map((path) => readText(join(root, path))));
  const { throttled } = await cgroupState(root);
  const ticks = machineTicks(stat);
  const swapped = [...(paging ?? '').matchAll(/^pswp(?:in|out) (\d+)$/gm)].map(([, pages]) => Number(pages));
  const overheated = await heatEvents(root);
  return {
    ...(ticks !== undefined && { ticks: ticks.all, stolenTicks: ticks.stolen ?? 0 }),
    ...(swapped.length > 0 && { swappedPages: sumOf(swapped) }),
    ...(throttled !== undefined && { throttled }),
    ...(overheated !== undefined && { overheated }),
  };
}

async function heatEvents(root: string): Promise<number | undefined> {
  const folder = join(root, 'sys/devices/system/cpu');
  const cores = (await readdir(folder).catch(() => [])).filter((name) => /^cpu\d+$/.test(name));
  const counts = await Promise.all(
    cores.map((core) => readText(join(folder, core, 'thermal_throttle/core_throttle_count'))),
  );
  const known = counts.filter((count) => count !== undefined);
  return known.length === 0 ? undefined : sumOf(known.map(Number));
}
