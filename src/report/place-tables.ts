/** Tables of cells, one for each workload and engine, so that names need not say these again. */
import { groupBy } from '../compare/cell-groups.js';
import type { Cell } from '../records/record.js';
import { type Block, type Table, heading, tableBlock } from './document.js';

type Placed = Pick<Cell, 'id' | 'family' | 'workload' | 'engine'>;

/** A table for each workload and engine, below a heading that names them. `cellOf` gives the cell of an item. */
export function tablesByPlace<Item>(
  items: readonly Item[],
  cellOf: (item: Item) => Placed,
  tableOfItems: (same: readonly Item[]) => Table,
): Block[] {
  const titleOf = (item: Item): string => {
    const { family, workload, engine } = cellOf(item);
    return `${family}/${workload} on ${engine}`;
  };
  return groupBy(items, titleOf).flatMap((same) => [heading(3, titleOf(same[0]!)), ...tableBlock(tableOfItems(same))]);
}

/** The id of a cell below such a heading, without the parts that the heading has. */
export function idBelowPlace({ id, family, workload, engine }: Placed): string {
  const place = `${family}/${workload}/`;
  const parts = (id.startsWith(place) ? id.slice(place.length) : id).split('/');
  const at = parts.indexOf(engine);
  return parts.filter((_, index) => index !== at).join('/');
}
