/** The cost of each way across the boundary: the answer of the family `boundary`. */
import { eachOf } from './call-table.js';
import { fastestOf, groupBy } from '../compare/cell-groups.js';
import type { CompletedRecord } from '../records/record.js';
import { type Table, tableOf } from './document.js';
import { UNKNOWN } from './format.js';

/** Whether a cell does nothing but cross, or is the floor of such a cell. */
export function isCrossing({ family }: Pick<CompletedRecord, 'family'>): boolean {
  return family === 'boundary';
}

/** The ways of the table, by their titles and their variants. Nothing crosses in the last two. */
const WAYS: readonly (readonly [string, RegExp])[] = [
  ['napi-rs', /^napi-rs(,|$)/],
  ['Node-API by hand', /^Node-API by hand/],
  ['FFI', /\bFFI\b/],
  ['WebAssembly', /^WebAssembly/],
  ['JavaScript', /^JavaScript/],
  ['Rust', /^function of Rust/],
];

/**
 * The time of a call by each usual way across the boundary, in its fastest lane, and by JavaScript and Rust alone,
 * without crossing: a row for each workload.
 */
export function crossingTable(records: readonly CompletedRecord[]): Table {
  const workloads = workloadsOf(records).filter((cells) => cells.some((cell) => wayOf(cell) !== undefined));
  const shown = WAYS.filter(([title]) => workloads.some((cells) => cells.some((cell) => wayOf(cell) === title)));
  return tableOf(workloads, [
    { title: 'Time per call', of: nameOf },
    ...shown.map(([title]) => ({
      title: `>${title}`,
      of: (cells: readonly CompletedRecord[]) => {
        const fastest = fastestOf(cells.filter((cell) => wayOf(cell) === title));
        return fastest === undefined ? UNKNOWN : eachOf(fastest);
      },
    })),
  ]);
}

/** A line for each workload that crosses by other ways as well, such as threads. */
export function otherCrossingLines(records: readonly CompletedRecord[]): string[] {
  return workloadsOf(records).flatMap((cells) => {
    const others = cells.filter((cell) => wayOf(cell) === undefined);
    if (others.length === 0) return [];
    return `${nameOf(cells)}: ${others.map((record) => `${record.variant} ${eachOf(record)}`).join(', ')}`;
  });
}

function workloadsOf(records: readonly CompletedRecord[]): CompletedRecord[][] {
  return groupBy(records.filter(isCrossing), ({ workload, batch, runtime }) =>
    JSON.stringify([workload, batch, runtime]),
  );
}

/** The title of the way that a cell takes. `undefined` if it is not in the table. */
function wayOf({ variant }: CompletedRecord): string | undefined {
  return WAYS.find(([, pattern]) => pattern.test(variant))?.[0];
}

function nameOf([first]: readonly CompletedRecord[]): string {
  const { workload, batch = 1, runtime } = first!;
  const where = [...(batch === 1 ? [] : [`${batch} at once`]), ...(runtime === undefined ? [] : [runtime])];
  return where.length === 0 ? workload : `${workload} (${where.join(', ')})`;
}
