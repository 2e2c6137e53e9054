import { hasFewSamples } from '../compare/rate-ratio.js';
import type { CompletedRecord } from '../records/record.js';
import { SAMPLES_FOR_INTERVAL } from '../stats/ratio-interval.js';

const OTHER_ROWS = ' †';
const FEW_SAMPLES = ' ‡';

/** The marks after the ratio of two cells, which are explained under the table. */
export function marksOf(a: CompletedRecord, b: CompletedRecord): string {
  return (a.rows === b.rows ? '' : OTHER_ROWS) + (hasFewSamples(a, b) ? FEW_SAMPLES : '');
}

/** The explanations of the marks in a table, one line each. */
export function notesOf(marks: readonly string[]): string[] {
  const isUsed = (mark: string): boolean => marks.some((shown) => shown.includes(mark));
  return [
    ...(isUsed(OTHER_ROWS)
      ? ['† The two were measured at different numbers of rows; their rows per second are compared.']
      : []),
    ...(isUsed(FEW_SAMPLES)
      ? [`‡ Fewer than ${SAMPLES_FOR_INTERVAL} samples on a side: the interval is narrower than the truth.`]
      : []),
  ];
}
