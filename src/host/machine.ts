import os from 'node:os';
import { join } from 'node:path';
import type { HostContext } from '../records/host.js';
import { cgroupLimits } from './cgroup.js';
import { machineTicks } from './machine-time.js';
import { readText } from './system-file.js';

/**
 * The machine that this process runs on. `root` is the folder with `/proc`, `/sys` and `/etc`. Values that can't be
 * read are absent. Never fails.
 */
export async function hostContext(root = '/'): Promise<HostContext> {
  const [cpuInfo, stolen, governor, cgroup, osName] = await Promise.all([
    readText(join(root, 'proc/cpuinfo')),
    stolenPart(root),
    readText(join(root, 'sys/devices/system/cpu/cpu0/cpufreq/scaling_governor')),
    cgroupLimits(root),
    operatingSystem(root),
  ]);
  const cpus = os.cpus();
  const processors = processorsOf(cpuInfo ?? '');
  const physicalCores = physicalCoreCount(processors);
  return {
    os: osName,
    arch: os.machine(),
    cpu: cpus[0]?.model.trim() || 'unknown',
    ...kindOf(processors[0]),
    ...(stolen === undefined ? {} : { stolenPart: stolen }),
    ...(physicalCores === undefined ? {} : { physicalCores }),
    logicalCores: Math.max(1, cpus.length || os.availableParallelism()),
    ...(governor === undefined ? {} : { governor }),
    memoryBytes: os.totalmem(),
    ...(Object.keys(cgroup).length === 0 ? {} : { cgroup }),
  };
}

/** The name of the operating system: `Ubuntu 24.04.1 LTS, Linux 6.8.0`. The kernel alone if the distribution has no name. */
async function operatingSystem(root: string): Promise<string> {
  const kernel = `${os.type()} ${os.release()}`;
  const release = (await readText(join(root, 'etc/os-release'))) ?? (await readText(join(root, 'usr/lib/os-release')));
  const name = /^PRETTY_NAME=(["']?)(.*)\1$/m.exec(release ?? '')?.[2];
  return name === undefined || name === '' ? kernel : `${name}, ${kernel}`;
}

/** The value of a field of a processor in `/proc/cpuinfo`. */
type Processor = (field: string) => string | undefined;

/** The processors of a text of `/proc/cpuinfo`. */
function processorsOf(cpuInfo: string): Processor[] {
  return cpuInfo
    .split('\n\n')
    .filter((processor) => processor.trim() !== '')
    .map((processor) => (field) => new RegExp(String.raw`^${field}\s*:\s*(.+)$`, 'm').exec(processor)?.[1]);
}

/** The number of physical cores: logical cores with equal physical and core ids are threads of one core. */
function physicalCoreCount(processors: readonly Processor[]): number | undefined {
  const cores = processors.flatMap((field) => {
    const core = field('core id');
    return core === undefined ? [] : [`${field('physical id') ?? '0'}/${core}`];
  });
  return cores.length === 0 ? undefined : new Set(cores).size;
}

/** The kind of CPU of a processor, and its clock. */
function kindOf(field: Processor = () => undefined): Pick<HostContext, 'cpuKind' | 'cpuMhz'> {
  const [family, model, stepping, mhz] = ['cpu family', 'model', 'stepping', 'cpu MHz'].map((name) =>
    Number(field(name) ?? NaN),
  ) as [number, number, number, number];
  const isKnown = [family, model, stepping].every(Number.isInteger);
  return {
    ...(isKnown ? { cpuKind: { family, model, stepping } } : {}),
    ...(Number.isFinite(mhz) ? { cpuMhz: mhz } : {}),
  };
}

/**
 * The part of the CPU time since the start of the machine that the hypervisor gave to others. `undefined` if the kernel
 * does not tell.
 */
async function stolenPart(root: string): Promise<number | undefined> {
  const ticks = machineTicks(await readText(join(root, 'proc/stat')));
  return ticks?.stolen === undefined || ticks.all === 0 ? undefined : ticks.stolen / ticks.all;
}
