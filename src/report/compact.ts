/** Compact result files, such as those in `results/`: they keep of each sample its seconds, and reports made from them say so. */
import { completedOf } from '../compare/cell-groups.js';
import type { Run } from '../records/record.js';

/** The sentence in each report that a compact file gave, by which such a report is known. It reads the same in Markdown and HTML. */
export const COMPACT_NOTE =
  'Made from a compact result file, which has no times of the CPU, of garbage and of stalls, and no memory: neither has this report.';

/** Whether the samples of a run have nothing but their seconds, or the run has nothing but its cost model. */
export function isCompact({ records, model }: Run): boolean {
  const completed = completedOf(records);
  const hasMore = completed.some(({ samples }) =>
    samples.some(({ cpuUserSeconds, peakRssBytes, longestStallMs }) =>
      [cpuUserSeconds, peakRssBytes, longestStallMs].some((measured) => measured !== undefined),
    ),
  );
  return !hasMore && (completed.length > 0 || model !== undefined);
}
