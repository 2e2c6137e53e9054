/** The sentences of a report about how far its verdicts can be trusted. */
import { forkCount } from '../compare/rate-ratio.js';
import type { CompletedRecord, Run, Comparison } from '../records/record.js';
import { RISK } from '../stats/resampling.js';
import { formatDuration, formatPercent } from './format.js';
import { median } from '../stats/quantile.js';
import { isDecided } from './factor.js';

/** How many verdicts a run makes, and how many of them are expected to be false by chance. `undefined` if it makes none. */
export function verdictsText({ comparisons }: Pick<Run, 'comparisons'>): string | undefined {
  const made = comparisons.filter(
    ({ kind, verdict, noVerdict }) => kind !== 'noise-floor' && verdict !== 'server-bound' && noVerdict === undefined,
  );
  if (made.length === 0) return undefined;
  const decided = made.filter(({ verdict }) => verdict !== 'inconclusive').length;
  const verdicts = made.length === 1 ? '1 comparison' : `${made.length} comparisons`;
  // A run that looks several times at its comparisons spends the risk over all looks.
  return (
    `Verdicts: ${verdicts}, of which ${decided} are conclusive. The risk of each is ${formatPercent(RISK)}, so that up to ` +
    `${Number((made.length * RISK).toPrecision(2))} of them are expected to be false by chance.`
  );
}

/** How much other programs and machines disturbed the samples. `undefined` if the run did not look. */
export function disturbanceText(records: readonly CompletedRecord[]): string | undefined {
  const samples = records.flatMap((record) => record.samples);
  const looked = samples.filter(({ stolenSeconds }) => stolenSeconds !== undefined);
  if (looked.length === 0) return undefined;
  const retaken = samples.reduce((sum, sample) => sum + (sample.retaken ?? 0), 0);
  // Unlike the times of a sample, which are of one execution on average, this one is of the whole sample.
  const stolen = looked.reduce((sum, { stolenSeconds = 0 }) => sum + stolenSeconds, 0);
  const processes = records.reduce((sum, record) => sum + forkCount(record), 0);
  const where = processes === 0 ? '' : ` of ${processes} ${processes === 1 ? 'process' : 'processes'}`;
  const taken = stolen === 0 ? 'nothing' : formatDuration(stolen);
  return (
    `Disturbance: ${samples.length} samples${where}. ${retaken} more were thrown away and taken again because others used the CPU, and the ` +
    `hypervisor took ${taken} of those that stayed.`
  );
}

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
