import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The limits of this process's control group; absent if there are none. */
export interface CgroupLimits {
  readonly cpus?: number;
  readonly memoryBytes?: number;
}

/** Limits above this mean "none" in version 1, which reports the largest multiple of a page below 2^63. */
const NO_MEMORY_LIMIT = 2 ** 60;

/**
 * The limits of this process's control group, version 1 or 2, the tightest of the group and its ancestors. `root` is the folder
 * with `/proc` and `/sys`. Empty if there are none or they can't be read.
 */
export async function cgroupLimits(root = '/'): Promise<CgroupLimits> {
  const membership = await readText(join(root, 'proc/self/cgroup'));
  if (membership === undefined) return {};
  const limits = membership.split('\n').map(async (line): Promise<CgroupLimits> => {
    const [hierarchy, controllers = '', ...path] = line.split(':');
    const group = path.join(':');
    if (hierarchy === '0' && controllers === '') return unifiedLimits(join(root, 'sys/fs/cgroup'), group);
    const names = controllers.split(',');
    return {
      ...(names.includes('cpu') ? await legacyCpus(join(root, 'sys/fs/cgroup', controllers), group) : {}),
      ...(names.includes('memory') ? await legacyMemory(join(root, 'sys/fs/cgroup', controllers), group) : {}),
    };
  });
  return tightest(await Promise.all(limits));
}

async function unifiedLimits(mount: string, group: string): Promise<CgroupLimits> {
  return tightest(
    await Promise.all(
      ancestorsOf(group).map(async (path) => {
        const [quota, period] = (await readText(join(mount, path, 'cpu.max')))?.split(/\s+/) ?? [];
        return limitsFrom(
          quota === 'max' ? undefined : Number(quota) / Number(period),
          Number(await readText(join(mount, path, 'memory.max'))),
        );
      }),
    ),
  );
}

async function legacyCpus(mount: string, group: string): Promise<CgroupLimits> {
  return tightest(
    await Promise.all(
      ancestorsOf(group).map(async (path) => {
        const quota = Number(await readText(join(mount, path, 'cpu.cfs_quota_us')));
        const period = Number(await readText(join(mount, path, 'cpu.cfs_period_us')));
        return limitsFrom(quota / period, undefined);
      }),
    ),
  );
}

async function legacyMemory(mount: string, group: string): Promise<CgroupLimits> {
  return tightest(
    await Promise.all(
      ancestorsOf(group).map(async (path) =>
        limitsFrom(undefined, Number(await readText(join(mount, path, 'memory.limit_in_bytes')))),
      ),
    ),
  );
}

/**
 * The paths of a group and its ancestors: `/a/b` -> `/`, `/a`, `/a/b`. `/` is included, since containers often see their group
 * as the root.
 */
function ancestorsOf(group: string): string[] {
  const parts = group.split('/').filter((part) => part !== '' && part !== '..');
  return parts.reduce<string[]>((paths, part) => [...paths, join(paths.at(-1)!, part)], ['/']);
}

function limitsFrom(cpus: number | undefined, memoryBytes: number | undefined): CgroupLimits {
  return {
    ...(isLimit(cpus) ? { cpus } : {}),
    ...(isLimit(memoryBytes) && memoryBytes < NO_MEMORY_LIMIT ? { memoryBytes } : {}),
  };
}

/** Whether a value is a limit: "no limit" is read as `max`, as -1 or as a missing file, none of which is a positive number. */
function isLimit(value: number | undefined): value is number {
  return value !== undefined && Number.isFinite(value) && value > 0;
}

function tightest(limits: readonly CgroupLimits[]): CgroupLimits {
  const least = (values: readonly (number | undefined)[]): number | undefined => {
    const known = values.filter((value) => value !== undefined);
    return known.length === 0 ? undefined : Math.min(...known);
  };
  return limitsFrom(least(limits.map(({ cpus }) => cpus)), least(limits.map(({ memoryBytes }) => memoryBytes)));
}

async function readText(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').then(
    (text) => text.trim(),
    () => undefined,
  );
}
