import type { Comparison } from '../records/record.js';
import { median } from '../stats/quantile.js';
import { formatPercent } from './format.js';
import { isDecided } from './factor.js';

/**
 * The comparison of cells with themselves: how large the differences are that mean nothing, and how often they look like more.
 * `undefined` if no cell was compared with itself.
 */
export function noiseText(comparisons: readonly Comparison[]): string | undefined {
  const noise = comparisons.filter(({ kind }) => kind === 'noise-floor');
  if (noise.length === 0) return undefined;
  const sizes = noise.map(({ ratio }) => Math.abs(ratio - 1));
  const wrong = noise.filter(isDecided).length;
  const cells = noise.length === 1 ? '1 cell' : `${noise.length} cells`;
  return (
    `A/A: ${cells}, each compared with itself, its odd processes with its even ones: ${formatPercent(median(sizes))} apart in the median, ` +
    `${formatPercent(Math.max(...sizes))} at most; ${wrong} of ${noise.length} (${formatPercent(wrong / noise.length)}) look ` +
    'faster or slower than themselves.'
  );
}
