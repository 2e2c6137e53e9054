import type { PlannedRequests } from './grid.js';

/** The versions of the crates that the side `rust` is compared with, as `Cargo.lock` has them. */
export const CRATES: Readonly<Record<string, string>> = {
  mysql_async: '0.37.1',
  redis: '1.8.1',
  reqwest: '0.13.5',
  tonic: '0.14.9',
};

/** The versions of the crates that these cells use, by names that no client in JavaScript has. */
export function crateVersions(cells: readonly PlannedRequests[]): Readonly<Record<string, string>> {
  const names = new Set(cells.flatMap(({ cell, client }) => (cell.side === 'rust' ? (client ?? []) : [])));
  return Object.fromEntries([...names].map((name) => [`crate ${name}`, CRATES[name]!]));
}
