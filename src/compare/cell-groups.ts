import { type Cell, type Comparison, type CompletedRecord, type RunRecord, itemsOf } from '../records/record.js';
import { rateOf } from '../stats/summary.js';

/** The records with samples. */
export function completedOf(records: readonly RunRecord[]): CompletedRecord[] {
  return records.filter((record) => record.outcome === 'completed');
}

/** Finds a cell with samples by its id. */
export type RecordOf = (id: string) => CompletedRecord | undefined;

/** The lookup of the records with samples. */
export function recordsById(records: readonly RunRecord[]): RecordOf {
  const byId = new Map(completedOf(records).map((record) => [record.id, record]));
  return (id) => byId.get(id);
}

/** The identity of a cell: cells with the same identity differ only in the number of rows. */
export function identityOf(cell: Cell): string {
  return JSON.stringify([contestOf(cell), cell.lane, cell.side, cell.flavor, cell.variant, cell.batch]);
}

/**
 * The contest of a cell. Cells of one contest do the same work in the same place, in any lane and on any side. So the best of them can be
 * named. Requests of one operation and requests of a batch, of any size, are two contests: not everyone can wait for a batch.
 */
export function contestOf(cell: Cell): string {
  return JSON.stringify([placeAndWorkOf(cell), isBatched(cell)]);
}

/** The work of a cell and its place. Requests of one operation and of a batch do the same work. */
export function placeAndWorkOf(cell: Cell): string {
  const { family, workload, engine, workers, transport, connections, processes, rate, runtime } = cell;
  return JSON.stringify([family, workload, engine, workers, transport, connections, processes, rate, runtime]);
}

/** Whether a cell sends requests of several operations. */
export function isBatched({ connections, batch = 1 }: Pick<Cell, 'connections' | 'batch'>): boolean {
  return connections !== undefined && batch > 1;
}

/** Whether a cell sends requests over a number of connections, instead of moving rows. */
export function isRequestWork(cell: Pick<Cell, 'connections'>): boolean {
  return cell.connections !== undefined;
}

/** Groups values by key, in the order of the keys' first occurrence. */
export function groupBy<T>(values: Iterable<T>, keyOf: (value: T) => string): T[][] {
  const groups = new Map<string, T[]>();
  for (const value of values) {
    const key = keyOf(value);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [value]);
    else group.push(value);
  }
  return [...groups.values()];
}

/** Of cells measured at several numbers of rows, the cells with the most rows, since fixed costs weigh least there. */
export function largestOfEach<T extends Cell>(cells: readonly T[]): T[] {
  return groupBy(cells, identityOf).map((group) => group.reduce((a, b) => (itemsOf(b) > itemsOf(a) ? b : a)));
}

/** The record with the highest rate in its median sample. `undefined` if there is none. */
export function fastestOf(records: readonly CompletedRecord[]): CompletedRecord | undefined {
  return records.reduce<CompletedRecord | undefined>(
    (best, record) => (best === undefined || rateOf(record) > rateOf(best) ? record : best),
    undefined,
  );
}

/** Whether comparisons of a kind say which of two ways is faster. */
export function isOnClients(kind: Comparison['kind']): boolean {
  return kind === 'lane' || kind === 'best' || kind === 'rival';
}
