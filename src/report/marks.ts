import { isRequestWork } from '../compare/cell-groups.js';
import { forkCount, hasFewForks, noVerdictOf } from '../compare/rate-ratio.js';
import { type CompletedRecord, type NoVerdict, itemsOf } from '../records/record.js';
import { FORKS_FOR_INTERVAL } from '../stats/ratio-interval.js';

const OTHER_ROWS = ' (other rows)';
const FEW_FORKS = ' (few processes)';
const ONE_PROCESS = ' (one process for all)';

/** The marks of cells that decide nothing, with the reason in a few words and in a sentence. */
const NO_VERDICT: Readonly<
  Record<NoVerdict, { readonly mark: string; readonly reason: string; readonly note: string }>
> = {
  'too-short': {
    mark: ' (too short)',
    reason: 'too short to measure',
    note: '(too short): the samples of the cell could not be made long enough to measure, so it gets no verdict.',
  },
  'still-warming-up': {
    mark: ' (warming up)',
    reason: 'still got faster when its warm-up ended',
    note: '(warming up): the cell still got faster when its warm-up ended, so it gets no verdict.',
  },
  'nothing-to-measure': {
    mark: ' (the loop)',
    reason: 'its calls take no longer than the loop around them',
    note: '(the loop): the calls of the cell take no longer than the loop around them, so it gets no verdict.',
  },
  'one-process': {
    mark: ' (one process)',
    reason: 'measured in one process',
    note:
      '(one process): one process measured one of the two, which says nothing of other processes: no verdict. ' +
      'Measure with --forks 3 or more, or without --forks.',
  },
};

/**
 * The marks after the ratio of two cells. They are explained under the table. `forks`: the number of processes on which
 * the ratio rests, if it is not all of both cells.
 */
export function marksOf(a: CompletedRecord, b: CompletedRecord, forks = FORKS_FOR_INTERVAL): string {
  const noVerdict = noVerdictOf({ numerator: a, denominator: b });
  const isOneProcess = forkCount(a) === 0 || forkCount(b) === 0;
  const isOfFew = forks < FORKS_FOR_INTERVAL || hasFewForks(a, b);
  const processes = isOneProcess ? ONE_PROCESS : isOfFew && noVerdict !== 'one-process' ? FEW_FORKS : '';
  return (itemsOf(a) === itemsOf(b) ? '' : OTHER_ROWS) + processes + noVerdictMark(noVerdict);
}

/** The mark of a cell that decides nothing, after its figures. Nothing after the figures of others. */
export function noVerdictMark(noVerdict: NoVerdict | undefined): string {
  return noVerdict === undefined ? '' : NO_VERDICT[noVerdict].mark;
}

/** Why a cell decides nothing, in a few words. */
export function noVerdictReason(noVerdict: NoVerdict): string {
  return NO_VERDICT[noVerdict].reason;
}

/** The explanations of the marks of cells that decide nothing, one line each. */
export function noVerdictNotes(cells: readonly { readonly noVerdict?: NoVerdict }[]): string[] {
  return notesOf(cells.map(({ noVerdict }) => noVerdictMark(noVerdict)));
}

/** The same of two cells of one run: the number of operations does not matter to a rate of requests. */
export function marksInRun(a: CompletedRecord, b: CompletedRecord, forks?: number): string {
  return marksOf(isRequestWork(b) ? { ...a, items: itemsOf(b) } : a, b, forks);
}

/** The mark after a ratio whose number of processes alone is known. */
export function forksMark(forks = FORKS_FOR_INTERVAL): string {
  return forks < FORKS_FOR_INTERVAL ? FEW_FORKS : '';
}

/** The explanations of the marks in a table, one line each. */
export function notesOf(marks: readonly string[]): string[] {
  const isUsed = (mark: string): boolean => marks.some((shown) => shown.includes(mark));
  return [
    ...(isUsed(OTHER_ROWS)
      ? ['(other rows): the two were measured at different numbers of rows. Their rows per second are compared.']
      : []),
    ...(isUsed(FEW_FORKS)
      ? [
          `(few processes): fewer than ${FORKS_FOR_INTERVAL} processes on one side: too few to know how much processes differ.`,
        ]
      : []),
    ...(isUsed(ONE_PROCESS)
      ? ['(one process for all): one process measured all cells together: they may have changed each other.']
      : []),
    ...Object.values(NO_VERDICT).flatMap(({ mark, note }) => (isUsed(mark) ? [note] : [])),
  ];
}
