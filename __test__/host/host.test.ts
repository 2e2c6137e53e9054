import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import os from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { cgroupLimits, cgroupState } from '../../src/host/cgroup.js';
import { hostContext } from '../../src/host/machine.js';
import { runContext, gitState } from '../../src/host/provenance.js';
import { checkOf } from '../../src/records/run-file.js';
import { lacks } from '../needs.js';
import { folderOfTest, writeFiles } from '../temporary-folder.js';

let root: string;

beforeEach(() => void (root = folderOfTest()));

/** Writes a tree of files below `root`, as `/proc` and `/sys` would show them. */
const files = (contents: Readonly<Record<string, string>>): void => writeFiles(root, contents);

describe('cgroupState', () => {
  it('reads version 2 of the own group and its ancestors, and of no other', async () => {
    files({
      'proc/self/cgroup': '0::/user.slice/bench\n',
      'sys/fs/cgroup/cpu.stat': 'usage_usec 1\n',
      'sys/fs/cgroup/other/cpu.stat': 'nr_throttled 100\n',
      'sys/fs/cgroup/user.slice/cpu.stat': 'nr_throttled 2\n',
      'sys/fs/cgroup/user.slice/bench/cpu.stat': 'nr_periods 9\nnr_throttled 3\n',
      'sys/fs/cgroup/user.slice/memory.max': '1000\n',
      'sys/fs/cgroup/user.slice/memory.current': '900\n',
      'sys/fs/cgroup/user.slice/memory.stat': 'anon 5\ninactive_file 50\n',
      'sys/fs/cgroup/user.slice/bench/memory.max': 'max\n',
      'sys/fs/cgroup/user.slice/bench/memory.current': '10\n',
    });
    expect(await cgroupState(root)).toEqual({ throttled: 5, memoryLeft: 150 });
  });

  it('reads version 1', async () => {
    files({
      'proc/self/cgroup': '7:memory:/docker/a\n3:cpu,cpuacct:/docker/a\n1:name=systemd:/\n',
      'sys/fs/cgroup/cpu,cpuacct/docker/a/cpu.stat': 'nr_throttled 4\n',
      'sys/fs/cgroup/memory/docker/a/memory.limit_in_bytes': '2000\n',
      'sys/fs/cgroup/memory/docker/a/memory.usage_in_bytes': '2500\n',
      'sys/fs/cgroup/memory/docker/a/memory.stat': 'inactive_file 1\ntotal_inactive_file 200\n',
      'sys/fs/cgroup/memory/memory.limit_in_bytes': '9223372036854771712\n',
      'sys/fs/cgroup/memory/memory.usage_in_bytes': '1\n',
    });
    expect(await cgroupState(root)).toEqual({ throttled: 4, memoryLeft: 0 });
  });

  it('is empty without groups', async () => {
    expect(await cgroupState(root)).toEqual({});
  });
});

describe('cgroupLimits', () => {
  it('reads version 2, the tightest of the group and its ancestors', async () => {
    files({
      'proc/self/cgroup': '0::/user.slice/bench\n',
      'sys/fs/cgroup/user.slice/cpu.max': '150000 100000\n',
      'sys/fs/cgroup/user.slice/memory.max': 'max\n',
      'sys/fs/cgroup/user.slice/bench/cpu.max': 'max 100000\n',
      'sys/fs/cgroup/user.slice/bench/memory.max': '8589934592\n',
    });
    expect(await cgroupLimits(root)).toEqual({ cpus: 1.5, memoryBytes: 8 * 1024 ** 3 });
  });

  it('reads the limits of a container that sees its own group as the root', async () => {
    files({
      'proc/self/cgroup': '0::/\n',
      'sys/fs/cgroup/cpu.max': '200000 100000\n',
      'sys/fs/cgroup/memory.max': '1073741824\n',
    });
    expect(await cgroupLimits(root)).toEqual({ cpus: 2, memoryBytes: 1024 ** 3 });
  });

  it('reads version 1, in which no limit is -1 or close to 2^63', async () => {
    files({
      'proc/self/cgroup': '7:memory:/docker/a:b\n3:cpu,cpuacct:/docker/a:b\n1:name=systemd:/\n0::/\n',
      'sys/fs/cgroup/memory/docker/a:b/memory.limit_in_bytes': '536870912\n',
      'sys/fs/cgroup/memory/memory.limit_in_bytes': '9223372036854771712\n',
      'sys/fs/cgroup/cpu,cpuacct/docker/a:b/cpu.cfs_quota_us': '-1\n',
      'sys/fs/cgroup/cpu,cpuacct/docker/a:b/cpu.cfs_period_us': '100000\n',
    });
    expect(await cgroupLimits(root)).toEqual({ memoryBytes: 512 * 1024 ** 2 });
  });

  it('is empty if nothing can be read', async () => {
    expect(await cgroupLimits(root)).toEqual({});
  });
});

describe('hostContext', () => {
  it('reads the cores, the governor and the name of the system', async () => {
    const processor = (id: number, core: number): string =>
      `processor\t: ${id}\nmodel name\t: Example\nphysical id\t: 0\ncore id\t\t: ${core}\n\n`;
    files({
      'proc/cpuinfo': processor(0, 0) + processor(1, 1) + processor(2, 0) + processor(3, 1),
      'sys/devices/system/cpu/cpu0/cpufreq/scaling_governor': 'performance\n',
      'etc/os-release': 'NAME="Example"\nPRETTY_NAME="Example Linux 12 (nook)"\n',
    });
    expect(await hostContext(root)).toMatchObject({
      physicalCores: 2,
      governor: 'performance',
      os: `Example Linux 12 (nook), ${os.type()} ${os.release()}`,
      logicalCores: os.cpus().length,
      memoryBytes: os.totalmem(),
    });
  });

  it('tells CPUs of one name apart, and reads what the hypervisor took', async () => {
    files({
      'proc/cpuinfo':
        'processor\t: 0\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: Example\nstepping\t: 1\ncpu MHz\t\t: 2596.126\n\n' +
        'processor\t: 1\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: Example\nstepping\t: 1\ncpu MHz\t\t: 1200.000\n\n',
      // The times of guests, the last two, are included in the times of users.
      'proc/stat': 'cpu  40 0 10 40 0 0 0 10 40 0\ncpu0 40 0 10 40 0 0 0 10 40 0\n',
    });
    expect(await hostContext(root)).toMatchObject({
      cpuKind: { family: 25, model: 17, stepping: 1 },
      cpuMhz: 2596.126,
      stolenPart: 0.1,
    });
    files({ 'proc/cpuinfo': 'processor\t: 0\nCPU part\t: 0xd0c\n\n', 'proc/stat': 'intr 1\n' });
    const arm = await hostContext(root);
    expect([arm.cpuKind, arm.cpuMhz, arm.stolenPart]).toEqual([undefined, undefined, undefined]);
  });

  it('leaves out what it cannot read', async () => {
    const host = await hostContext(root);
    expect(Object.keys(host).toSorted()).toEqual(['arch', 'cpu', 'logicalCores', 'memoryBytes', 'os']);
    expect(host.os).toBe(`${os.type()} ${os.release()}`);
  });
});

describe('gitState', () => {
  const git = (...args: readonly string[]): string =>
    execFileSync('git', ['-C', root, '-c', 'user.name=a', '-c', 'user.email=a@example.org', ...args], {
      encoding: 'utf8',
    }).trim();

  it.skipIf(lacks('git'))('says the commit and whether there are changes', async () => {
    git('init', '--quiet');
    expect(await gitState(root)).toBeUndefined();
    files({ 'a.txt': 'a' });
    git('add', 'a.txt');
    git('commit', '--quiet', '--message', 'first');
    const commit = git('rev-parse', 'HEAD');
    expect(await gitState(root)).toEqual({ commit, dirty: false });
    files({ 'a.txt': 'b' });
    expect(await gitState(root)).toEqual({ commit, dirty: true });
  });

  it('is absent if there is no such directory', async () => {
    expect(await gitState(join(root, 'nowhere'))).toBeUndefined();
  });
});

describe('runContext', () => {
  it('has the shape of the result files, with and without an addon', async () => {
    const addonPath = join(root, 'addon.node');
    files({ 'addon.node': 'not really' });
    const startedAt = new Date('2026-05-02T10:00:00Z');
    const build = { profile: 'release', targetCpu: 'native', rustc: 'rustc 1.90.0', addonPath };
    const built = await runContext({ startedAt, config: { samples: 3 }, build });
    checkOf('context')(built, 'the context');
    expect(built).toMatchObject({
      startedAt: '2026-05-02T10:00:00.000Z',
      build: { profile: 'release', addonSha256: createHash('sha256').update('not really').digest('hex') },
      versions: { rustc: '1.90.0', node: process.versions.node, 'boundary-bench': expect.stringMatching(/^\d+\./) },
    });

    const others = ['node', process.execPath, 'no-such-runtime', '/no/such/runtime'];
    const { versions } = await runContext({ startedAt, config: { runtimes: others } });
    expect(versions).toMatchObject({ node: process.versions.node, [process.execPath]: process.versions.node });
    expect(versions).not.toHaveProperty('no-such-runtime');

    const bare = await runContext({ startedAt, config: {} });
    checkOf('context')(bare, 'the context');
    expect(bare.build.addonSha256).toBe('not built');
    const gone = await runContext({ startedAt, config: {}, build: { ...build, addonPath: join(root, 'gone') } });
    expect(gone.build.addonSha256).toBe('unreadable');
  });
});
