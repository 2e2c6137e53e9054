/** Compact result files, such as those in `results/`: they keep the times of each sample, and reports made from them say so. */
import { completedOf } from '../compare/cell-groups.js';
import type { Run } from '../records/record.js';
import { processCpuOf } from '../stats/summary.js';

/**
 * The beginning of the sentence in each report that a compact file gave, by which such a report is known. It reads the
 * same in Markdown and HTML.
 */
export const COMPACT_MARK = 'Made from a compact result file,';

/** The sentence in the report of a compact file. Files of earlier versions have no CPU times. */
export function compactNote({ records }: Run): string {
  const hasCpu = completedOf(records).some(({ samples }) =>
    samples.some((sample) => processCpuOf(sample) !== undefined),
  );
  const times = hasCpu ? 'no times' : 'no times of the CPU,';
  return `${COMPACT_MARK} which has ${times} of garbage and of stalls, and no memory: neither has this report.`;
}

/** Whether the samples of a run have nothing but their times, or the run has nothing but its cost model. */
export function isCompact({ records, model }: Run): boolean {
  const completed = completedOf(records);
  const hasMore = completed.some(({ samples }) =>
    samples.some(({ gcSeconds, peakRssBytes, longestStallMs }) =>
      [gcSeconds, peakRssBytes, longestStallMs].some((measured) => measured !== undefined),
    ),
  );
  return !hasMore && (completed.length > 0 || model !== undefined);
}
