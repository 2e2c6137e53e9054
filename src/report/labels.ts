import { isBatched } from '../compare/cell-groups.js';
import { type Cell, type Counted, unitOf } from '../records/record.js';
import type { ColumnOf } from './document.js';
import { UNKNOWN } from './format.js';

/** The parts of a name of a cell, or of a mechanism of the cost model. */
type Named = Pick<Cell, 'side' | 'variant' | 'workers' | 'runtime'>;

/**
 * The variant of a cell: `RowInserter.addRow`, or `RowInserter.addRow × 2` for two workers. Another client from npm
 * that is a native addon itself is `(native)`.
 */
export function variantOf(cell: Named): string {
  return shortVariantOf(isNativeClient(cell) ? { ...cell, variant: `${cell.variant} (native)` } : cell);
}

/** The same without `(native)`. */
export function shortVariantOf({ variant, workers, runtime }: Named): string {
  const several = workers !== undefined && workers > 1 ? `${variant} × ${workers}` : variant;
  return runtime === undefined ? several : `${several}, on ${runtime}`;
}

/** The batch after a name: `, batch 64`. Nothing for single operations. */
export function batchText({ batch = 1 }: Cell): string {
  return batch === 1 ? '' : `, batch ${batch}`;
}

/** The variant with its side: `napi · RowInserter.addRow`. A way that is named by its side alone has that name once. */
export function sideAndVariantOf(cell: Named): string {
  const variant = variantOf(cell);
  return new RegExp(String.raw`^${cell.side}\b(?!-)`).test(variant) ? variant : `${cell.side} · ${variant}`;
}

/** The word for one of the things that `itemsOf` counts: `row`, `operation`, `call` or `item`. */
export function oneUnitOf(cell: Counted): string {
  return unitOf(cell).slice(0, -1);
}

/** The parts of a name that say how request work is loaded: `32 connections`, `in batches`. None for other work. */
export function loadParts(cell: Pick<Cell, 'connections' | 'batch'>): string[] {
  const { connections } = cell;
  if (connections === undefined) return [];
  return [
    connections === 1 ? '1 connection' : `${connections} connections`,
    ...(isBatched(cell) ? ['in batches'] : []),
  ];
}

/** The column of transports. A table has it only if some of its cells have a transport. `cellOf` gives the cell of a row. */
export function transportColumn<Item>(
  items: readonly Item[],
  cellOf: (item: Item) => Pick<Cell, 'transport'>,
): ColumnOf<Item>[] {
  if (items.every((item) => cellOf(item).transport === undefined)) return [];
  return [{ title: 'Transport', of: (item) => cellOf(item).transport ?? UNKNOWN }];
}

/** The name of a cell in a table without a column of flavors: `sync column slices`, `napi · executeQuery`. */
export function nameOf(cell: Cell): string {
  if (cell.side !== 'rust') return sideAndVariantOf(cell);
  return cell.flavor === undefined ? variantOf(cell) : `${cell.flavor} ${variantOf(cell)}`;
}

/** The other clients from npm of the side `js`, by the packages in their variants: native addons of others, or JavaScript. */
const NATIVE = /@duckdb\/node-|@valkey\/valkey-glide|hyperdb-api-node|nodejs-polars/;
const JAVASCRIPT =
  /ioredis|@redis\/client|mysql2|mariadb|undici|@grpc\/grpc-js|apache-arrow|flechette|msgpackr|sorted-btree|sql-parser|sql-ast-parser|JavaScript|DataView/;

type Client = { readonly side: string; readonly variant: string };

/** Whether the client of a cell is known to be native code of others. */
export function isNativeClient({ side, variant }: Client): boolean {
  return side === 'js' && NATIVE.test(variant);
}

/** Whether who takes the client of a cell stays in JavaScript. A client of the user's may be anything. */
export function isJavaScriptClient(cell: Client): boolean {
  return cell.side === 'js' && !isNativeClient(cell) && JAVASCRIPT.test(cell.variant);
}
