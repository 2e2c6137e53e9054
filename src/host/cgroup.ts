import { join } from 'node:path';

import { readText } from './system-file.js';

/** The limits of this process's control group. Absent if there are none. */
export interface CgroupLimits {
  readonly cpus?: number;
  readonly memoryBytes?: number;
}

/** Limits above this mean "none" in version 1: it reports the largest multiple of a page below 2^63. */
const NO_MEMORY_LIMIT = 2 ** 60;

/** The counts of a control group, and the rest of its limit. A field is absent if the group has no such limit, or does not count. */
export interface CgroupState {
  /** How often the quota of the CPUs was used up, by the group or an ancestor. */
  readonly throttled?: number;
  /** The bytes that may still be used, including bytes of files that can be dropped. */
  readonly memoryLeft?: number;
}

/**
 * The limits of this process's control group, version 1 or 2, the tightest of the group and its ancestors. `root` is
 * the folder with `/proc` and `/sys`. Empty if there are none or they can't be read.
 */
export async function cgroupLimits(root = '/'): Promise<CgroupLimits> {
  const groups = await groupsOf(root);
  const limits = groups.map(async ({ files, folder }): Promise<CgroupLimits> => {
    return limitsFrom(await files.cpus(folder), await files.memory.limit(folder));
  });
  return tightest(await Promise.all(limits));
}

/** The counts of the same groups, and the rest of their limits. */
export async function cgroupState(root = '/'): Promise<CgroupState> {
  const groups = await groupsOf(root);
  const throttled = await Promise.all(
    groups.map(async ({ folder }) => countIn(await readText(join(folder, 'cpu.stat')), 'nr_throttled')),
  );
  const left = await Promise.all(
    groups.map(async ({ files: { memory }, folder }) => {
      const limit = limitsFrom(undefined, await memory.limit(folder)).memoryBytes;
      const used = Number(await readText(join(folder, memory.used)));
      const droppable = countIn(await readText(join(folder, 'memory.stat')), memory.droppable) ?? 0;
      return limit === undefined || !Number.isFinite(used) ? undefined : limit - used + droppable;
    }),
  );
  const counts = throttled.filter((count) => count !== undefined);
  const memoryLeft = least(left);
  return {
    ...(counts.length > 0 && { throttled: counts.reduce((total, count) => total + count, 0) }),
    ...(memoryLeft !== undefined && { memoryLeft: Math.max(0, memoryLeft) }),
  };
}

/** The files of a group. They differ by the version. If there is no limit, the number is not positive. */
interface GroupFiles {
  cpus(folder: string): Promise<number | undefined>;
  readonly memory: {
    limit(folder: string): Promise<number>;
    /** The file of the bytes in use, and the line of `memory.stat` with the bytes of files that were not used for long. */
    readonly used: string;
    readonly droppable: string;
  };
}

const VERSION_1: GroupFiles = {
  async cpus(folder) {
    const quota = Number(await readText(join(folder, 'cpu.cfs_quota_us')));
    return quota / Number(await readText(join(folder, 'cpu.cfs_period_us')));
  },
  memory: {
    limit: async (folder) => Number(await readText(join(folder, 'memory.limit_in_bytes'))),
    used: 'memory.usage_in_bytes',
    droppable: 'total_inactive_file',
  },
};

const VERSION_2: GroupFiles = {
  async cpus(folder) {
    const [quota, period] = (await readText(join(folder, 'cpu.max')))?.split(/\s+/) ?? [];
    return quota === 'max' ? undefined : Number(quota) / Number(period);
  },
  memory: {
    limit: async (folder) => Number(await readText(join(folder, 'memory.max'))),
    used: 'memory.current',
    droppable: 'inactive_file',
  },
};

/** The folders of this process's groups of the CPU and of memory, and of their ancestors. */
async function groupsOf(root: string): Promise<{ readonly files: GroupFiles; readonly folder: string }[]> {
  const membership = (await readText(join(root, 'proc/self/cgroup'))) ?? '';
  return membership.split('\n').flatMap((line) => {
    const [hierarchy, controllers = '', ...path] = line.split(':');
    const isUnified = hierarchy === '0' && controllers === '';
    if (!isUnified && !controllers.split(',').some((name) => name === 'cpu' || name === 'memory')) return [];
    const mount = join(root, 'sys/fs/cgroup', controllers);
    const files = isUnified ? VERSION_2 : VERSION_1;
    return ancestorsOf(path.join(':')).map((folder) => ({ files, folder: join(mount, folder) }));
  });
}

/** The number of a line such as `nr_throttled 3`. */
function countIn(text: string | undefined, name: string): number | undefined {
  const [, count] = new RegExp(`^${name} (\\d+)$`, 'm').exec(text ?? '') ?? [];
  return count === undefined ? undefined : Number(count);
}

/**
 * The paths of a group and its ancestors: `/a/b` -> `/`, `/a`, `/a/b`. `/` is included, since containers often see
 * their group as the root.
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
  return limitsFrom(least(limits.map(({ cpus }) => cpus)), least(limits.map(({ memoryBytes }) => memoryBytes)));
}

function least(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}
