/** The time of samples by their index within a process. It shows warm-up that is left in them. */
import { groupBy } from '../compare/cell-groups.js';
import type { CompletedRecord } from '../records/record.js';
import { median } from '../stats/quantile.js';
import { formatPercent } from './format.js';

/** The part by which the first sample of a process is slower than the fastest index from which on warm-up counts as left. */
const WARM_UP = 0.1;

/**
 * The time of the first, second and further sample of a process, in the median over the processes, as a factor of the
 * fastest index. Empty if no process took two samples. An index that fewer than half of the processes have is left out.
 */
export function profileOf({ samples }: Pick<CompletedRecord, 'samples'>): number[] {
  const processes = groupBy(samples, ({ fork }) => String(fork));
  const most = Math.max(...processes.map(({ length }) => length));
  const medians = Array.from({ length: most }, (_, index) => {
    const times = processes.flatMap((ofProcess) => ofProcess[index]?.seconds ?? []);
    return 2 * times.length < processes.length ? [] : [median(times)];
  }).flat();
  const fastest = Math.min(...medians);
  return medians.length < 2 || fastest === 0 ? [] : medians.map((time) => time / fastest);
}

/** How many cells have warm-up left in their samples. `undefined` if no process took two samples. */
export function warmUpText(records: readonly CompletedRecord[]): string | undefined {
  const firsts = records.map(profileOf).flatMap(([first]) => first ?? []);
  if (firsts.length === 0) return undefined;
  const left = firsts.filter((first) => first > 1 + WARM_UP).length;
  const slowest = formatPercent(Math.max(...firsts) - 1);
  return (
    `In ${left} of ${firsts.length} cells the first sample of a process is more than ${formatPercent(WARM_UP)} slower than the fastest ` +
    `index, in the median over the processes (${slowest} at most): ${left === 0 ? 'no warm-up is seen in the samples.' : 'warm-up is left in their samples.'}`
  );
}
