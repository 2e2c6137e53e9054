import { forkCount, hasFewForks } from '../compare/rate-ratio.js';
import type { CompletedRecord } from '../records/record.js';
import { FORKS_FOR_INTERVAL } from '../stats/ratio-interval.js';

const OTHER_ROWS = ' †';
const FEW_FORKS = ' ‡';
const ONE_PROCESS = ' §';

/** The marks after the ratio of two cells, which are explained under the table. */
export function marksOf(a: CompletedRecord, b: CompletedRecord): string {
  const isOneProcess = forkCount(a) === 0 || forkCount(b) === 0;
  const processes = isOneProcess ? ONE_PROCESS : hasFewForks(a, b) ? FEW_FORKS : '';
  return (a.rows === b.rows ? '' : OTHER_ROWS) + processes;
}

/** The explanations of the marks in a table, one line each. */
export function notesOf(marks: readonly string[]): string[] {
  const isUsed = (mark: string): boolean => marks.some((shown) => shown.includes(mark));
  return [
    ...(isUsed(OTHER_ROWS)
      ? ['† The two were measured at different numbers of rows; their rows per second are compared.']
      : []),
    ...(isUsed(FEW_FORKS)
      ? [`‡ Fewer than ${FORKS_FOR_INTERVAL} processes measured one of the two: rough, the interval may be too narrow.`]
      : []),
    ...(isUsed(ONE_PROCESS)
      ? ['§ One process measured all cells, one beside the other: they may have changed each other.']
      : []),
  ];
}
