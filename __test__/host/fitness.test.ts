import { beforeEach, describe, expect, it } from 'vitest';
import { type FitnessCheck, checkFitness } from '../../src/host/fitness.js';
import { type Noise, probeNoise } from '../../src/host/noise-probe.js';
import { folderOfTest, writeFiles } from '../temporary-folder.js';

const { signal } = new AbortController();

let root: string;

beforeEach(() => void (root = folderOfTest()));

const files = (contents: Readonly<Record<string, string>>): void => writeFiles(root, contents);

const stat = (user: number, stolen: number): string => `cpu  ${user} 0 0 1000 0 0 0 ${stolen} 5 5\ncpu0 1 0 0 1\n`;

const KIB = 1024;
const counted = (times: number): Record<string, string> => ({
  'proc/stat': stat(1000 + 90 * times, 10 * times),
  'proc/vmstat': `pgpgin 7\npswpin ${times}\npswpout ${times}\n`,
  'proc/meminfo': `MemTotal: 1 kB\nMemAvailable:    ${times === 0 ? 4 * KIB * KIB : KIB * KIB} kB\n`,
  'proc/self/cgroup': '0::/bench\n',
  'sys/fs/cgroup/bench/cpu.stat': `usage_usec 1\nnr_throttled ${times}\n`,
  'sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count': `${times}\n`,
  'sys/devices/system/cpu/cpu0/cpufreq/scaling_governor': 'performance\n',
});

const quiet: Noise = { ratio: 1, low: 0.99, high: 1.01, samples: 100, spread: 0.02, loopSeconds: 1e-6 };

const look = (load: number, probe: () => Promise<Noise>): Promise<readonly FitnessCheck[]> =>
  checkFitness({ probe, root, load });

const wrongOf = (checks: readonly FitnessCheck[]): string[] =>
  checks.filter(({ isFit }) => !isFit).map(({ name }) => name);

describe('a machine', () => {
  it('is fit if nothing disturbs', async () => {
    files(counted(0));
    const checks = await look(0.1, async () => {
      files({ 'proc/stat': stat(2000, 0) });
      return quiet;
    });
    const all = ['load', 'governor', 'throttling', 'heat', 'steal', 'swap', 'memory', 'noise'];
    expect(checks.map(({ name }) => name)).toEqual(all);
    expect(wrongOf(checks)).toEqual([]);
  });

  it('is told what disturbs, and what to do about it', async () => {
    files({ ...counted(0), 'sys/devices/system/cpu/cpu0/cpufreq/scaling_governor': 'powersave\n' });
    const checks = await look(1.5, async () => {
      files(counted(3));
      return { ...quiet, spread: 0.5, loopSeconds: 1e-6 };
    });
    expect(wrongOf(checks)).toEqual(checks.map(({ name }) => name));
    for (const { advice } of checks) expect(advice).toMatch(/\w/);
    expect(checks.map(({ found }) => found)).toEqual([
      expect.stringMatching(/^1\.50 of \d+ cores busy in the last minute$/),
      'powersave',
      'the limit of the CPUs was reached, 3 times in the probe',
      'a core was slowed down by heat, 3 times in the probe',
      '10.0% of the time went to other guests of the machine',
      'pages were swapped, 6 times in the probe',
      '1.0 GiB available',
      'A/A 1.000 (0.990–1.010), equal samples 50.0% apart',
    ]);
  });

  it('has the memory that its control group leaves', async () => {
    files({
      ...counted(0),
      'sys/fs/cgroup/bench/memory.max': String(3 * 1024 ** 3),
      'sys/fs/cgroup/bench/memory.current': String(2.5 * 1024 ** 3),
      'sys/fs/cgroup/bench/memory.stat': `anon 1\ninactive_file ${0.25 * 1024 ** 3}\n`,
    });
    const memory = (await look(0, async () => quiet)).find(({ name }) => name === 'memory');
    expect(memory).toMatchObject({ isFit: false, found: '0.8 GiB available' });
  });

  it('has no check for what its system does not count', async () => {
    expect((await look(0, async () => quiet)).map(({ name }) => name)).toEqual(['load', 'memory', 'noise']);
  });
});

describe('the loop that is timed against itself', () => {
  it('takes turns in every round, and knows how far its samples are apart', async () => {
    const noise = await probeNoise(0.2, signal);
    // Ten rounds of at least one pair.
    expect(noise.samples).toBeGreaterThanOrEqual(20);
    expect(noise.samples % 2).toBe(0);
    expect(noise.low).toBeLessThanOrEqual(noise.ratio);
    expect(noise.high).toBeGreaterThanOrEqual(noise.ratio);
    expect(noise.spread).toBeGreaterThanOrEqual(0);
  });

  it('ends if it is interrupted', async () => {
    await expect(probeNoise(60, AbortSignal.abort())).rejects.toThrow(/abort/i);
  });
});
