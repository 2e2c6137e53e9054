/** Whether cells of two runs did the same work, so that a difference of their rates is one of their speed. */
import { BoundaryError } from '../errors.js';
import { checksumDifference } from '../records/checksum.js';
import { type CompletedRecord, type RunContext, itemsOf, unitOf } from '../records/record.js';

export const FORCE = '--force compares them all the same.';

/** A cell in two runs. */
interface CellTwice {
  readonly before: CompletedRecord;
  readonly after: CompletedRecord;
}

/**
 * Throws a `BoundaryError` for the first cell that did other work. The cell was asked for another rate
 * (`BB_COMPARE_DIFFERENT_RATES`), moved another number of rows (`BB_COMPARE_DIFFERENT_ROWS`), or read or wrote other values, of
 * another scale for example (`BB_COMPARE_DIFFERENT_WORK`). Another number of rows would look like a change, since fixed costs weigh
 * more if there are few rows.
 */
export function requireSameWork(cells: readonly CellTwice[]): void {
  // The id of a cell does not name the rate at which its requests were sent.
  const paced = cells.find(({ before, after }) => before.rate !== after.rate);
  if (paced !== undefined) {
    const rateText = ({ rate }: CompletedRecord): string => (rate === undefined ? 'no rate' : `${rate}/s`);
    throw new BoundaryError(
      'BB_COMPARE_DIFFERENT_RATES',
      `${paced.after.id} was asked for ${rateText(paced.before)} and for ${rateText(paced.after)}, so what it reached can't be compared`,
      { hint: `Measure both runs with the same --rate, or both without. ${FORCE}` },
    );
  }
  const resized = cells.filter(({ before, after }) => itemsOf(before) !== itemsOf(after));
  if (resized[0] !== undefined) {
    const { before, after } = resized[0];
    throw new BoundaryError(
      'BB_COMPARE_DIFFERENT_ROWS',
      `${resized.length} of ${cells.length} cells worked on different numbers of ${unitOf(after)}, so their rates can't be compared (${after.id}: ${itemsOf(before)} and ${itemsOf(after)})`,
      { hint: `Measure both runs with the same number of ${unitOf(after)}. ${FORCE}` },
    );
  }
  for (const { before, after } of cells) {
    const difference = checksumDifference(after.checksum, before.checksum);
    if (difference === undefined) continue;
    const { what, found, expected } = difference;
    throw new BoundaryError(
      'BB_COMPARE_DIFFERENT_WORK',
      `${after.id} did other work in each run, so its rates can't be compared (${what}: ${expected ?? 'none'} and ${found ?? 'none'})`,
      { hint: `Measure both runs with the same --rows, --scale and --operations. ${FORCE}` },
    );
  }
}

/** Throws `BB_COMPARE_DIFFERENT_WORK` for cells of two runs whose requests went through different simulated networks. */
export function requireSameNetwork(before: RunContext, after: RunContext, cells: readonly CellTwice[]): void {
  const engines = new Set(cells.map((cell) => cell.after.engine));
  const [earlier, later] = [networksOf(before, engines), networksOf(after, engines)];
  if (earlier === later) return;
  throw new BoundaryError(
    'BB_COMPARE_DIFFERENT_WORK',
    `the requests of the runs went through different networks, so their times can't be compared (${earlier} and ${later})`,
    { hint: `Measure both runs with the same --net-delay-us and --net-bandwidth-mbps. ${FORCE}` },
  );
}

function networksOf({ networks = {} }: RunContext, engines: ReadonlySet<string>): string {
  const used = Object.entries(networks).filter(([engine]) => engines.has(engine));
  const texts = used.map(([engine, { by, delayUs, megabits }]) => {
    const bandwidth = megabits === undefined ? '' : `, ${megabits} Mbit/s`;
    return `${engine}: ${delayUs} µs${bandwidth} each way by the ${by}`;
  });
  return texts.length === 0 ? 'none' : texts.toSorted().join('; ');
}
