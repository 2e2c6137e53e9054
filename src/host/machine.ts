import os from 'node:os';
import { join } from 'node:path';
import type { HostContext } from '../records/record.js';
import { cgroupLimits } from './cgroup.js';
import { readText } from './system-file.js';

/**
 * The machine that this process runs on. `root` is the folder with `/proc`, `/sys` and `/etc`. Values that can't be read are
 * absent; never fails.
 */
export async function hostContext(root = '/'): Promise<HostContext> {
  const [physicalCores, governor, cgroup, osName] = await Promise.all([
    physicalCoreCount(root),
    readText(join(root, 'sys/devices/system/cpu/cpu0/cpufreq/scaling_governor')),
    cgroupLimits(root),
    operatingSystem(root),
  ]);
  const cpus = os.cpus();
  return {
    os: osName,
    arch: os.machine(),
    cpu: cpus[0]?.model.trim() || 'unknown',
    ...(physicalCores === undefined ? {} : { physicalCores }),
    logicalCores: Math.max(1, cpus.length || os.availableParallelism()),
    ...(governor === undefined ? {} : { governor }),
    memoryBytes: os.totalmem(),
    ...(Object.keys(cgroup).length === 0 ? {} : { cgroup }),
  };
}

/** The name of the operating system: `Ubuntu 24.04.1 LTS, Linux 6.8.0`; the kernel alone if the distribution has no name. */
async function operatingSystem(root: string): Promise<string> {
  const kernel = `${os.type()} ${os.release()}`;
  const release = (await readText(join(root, 'etc/os-release'))) ?? (await readText(join(root, 'usr/lib/os-release')));
  const name = /^PRETTY_NAME=(["']?)(.*)\1$/m.exec(release ?? '')?.[2];
  return name === undefined || name === '' ? kernel : `${name}, ${kernel}`;
}

/** The number of physical cores: logical cores with equal physical and core ids are threads of one core. */
async function physicalCoreCount(root: string): Promise<number | undefined> {
  const text = await readText(join(root, 'proc/cpuinfo'));
  const processors = (text ?? '').split('\n\n').flatMap((processor) => {
    const field = (name: string): string | undefined =>
      new RegExp(String.raw`^${name}\s*:\s*(\d+)$`, 'm').exec(processor)?.[1];
    const core = field('core id');
    return core === undefined ? [] : [`${field('physical id') ?? '0'}/${core}`];
  });
  return processors.length === 0 ? undefined : new Set(processors).size;
}
