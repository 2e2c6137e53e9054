/** The versions of the other clients and crates that were measured, as the line below each table that shows them. */
import type { Cell, RunContext } from '../records/record.js';

const CRATE = 'crate ';

/** The line of the clients of some cells: `Clients: ioredis 6.0.0, crate redis 1.8.1.` None if all clients are our own. */
export function clientLines(cells: readonly Cell[], { versions }: Pick<RunContext, 'versions'>): string[] {
  const clients = Object.entries(versions).filter(([name]) => cells.some((cell) => isOfClient(cell, name)));
  return clients.length === 0 ? [] : [`Clients: ${clients.map((client) => client.join(' ')).join(', ')}.`];
}

/** Whether a cell has a client, or a crate, in its variant or in the part of its id after its engine. */
function isOfClient({ id, side, variant, engine }: Cell, name: string): boolean {
  const isCrate = name.startsWith(CRATE);
  const [, ...dimensions] = id.split(`/${engine}/`);
  const words = [...variant.split(/[ ,()]+/), ...dimensions.join('/').split('/')];
  return isCrate === (side === 'rust') && words.includes(isCrate ? name.slice(CRATE.length) : name);
}
