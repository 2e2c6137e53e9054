import type { EngineLane } from './matrix.js';

/** The lane by which the addon hands over Arrow streams. */
export const ARROW_IPC = 'arrow-ipc';

/** The package that makes and reads Arrow streams in JavaScript. */
const FLECHETTE = '@uwdata/flechette';

/** The packages of the clients, by the clients' names in the matrix. The packages of peers are named with the peers. */
const OF_CLIENTS: Readonly<Record<string, readonly string[]>> = {
  'apache-arrow': ['apache-arrow'],
  flechette: [FLECHETTE],
  'duckdb-node-api': ['@duckdb/node-api'],
  'duckdb-node-bindings': ['@duckdb/node-bindings'],
  'hyperdb-api-node': [FLECHETTE],
  mysql2: ['mysql2'],
  'mysql2-execute': ['mysql2'],
};

/** The packages that a lane needs, which may not be installed. */
export function packagesOf({ side, lane, client }: Pick<EngineLane, 'side' | 'lane' | 'client'>): readonly string[] {
  if (side === 'napi' && lane === ARROW_IPC) return [FLECHETTE];
  return side === 'js' ? (OF_CLIENTS[client ?? ''] ?? []) : [];
}
