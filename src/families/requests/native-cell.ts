import { type Checksum, itemsOf } from '../../records/record.js';
import { openNative } from '../native-program.js';
import type { OpenCell } from '../workload.js';
import type { PlannedRequests } from './grid.js';
import { type TargetServer, placesOf } from './target-server.js';
import { KvClient } from '../../library/kv/kv-client.js';
import { SqlClient } from '../../library/sql/sql-client.js';
import { toBoundaryError } from '../../errors.js';

/** The input of the Rust side of a family. */
export interface NativeRequests {
  readonly planned: PlannedRequests;
  readonly server: TargetServer;
  /** The checksum that every sample must return. */
  readonly expected: Checksum;
  /** Further options of the family's cells, such as the size of a value. */
  readonly options?: Readonly<Record<string, unknown>>;
}

/** Opens a cell of the `rust` side. */
export function openNativeRequests(requests: NativeRequests): Promise<OpenCell> {
  return openNative({ kind: 'requests', spec: specOf(requests) }, requests.expected);
}

/** The specification of the cell, as `native/suite/src/requests.rs` reads it. */
function specOf({ planned, server, options }: NativeRequests): object {
  const { cell, setting, client } = planned;
  return {
    family: cell.family,
    workload: cell.workload,
    lane: cell.lane,
    setting,
    driver: cell.driver,
    client,
    url: server.url,
    connections: cell.connections,
    batch: cell.batch,
    operations: itemsOf(cell),
    rate: cell.rate,
    prefix: server.newPrefix(),
    serverProcesses: server.processIds,
    options,
  };
}

/** The keys that one command of a scan looks at. */
const SCAN_COUNT = '10000';

/** The time-out of removing a table in milliseconds: a statement that the server still runs may use it. */
const DROP_WITHIN_MS = 30_000;

/** Removes all with names of this run. Resolves to a sentence about what may still be there; `undefined`: nothing. */
export async function removeLeft(target: TargetServer): Promise<string | undefined> {
  const { kind, url, namePrefix: prefix } = target;
  try {
    if (kind === 'mysql') await dropTables(url, prefix);
    else if (kind === 'redis' || kind === 'redis-cluster') {
      for (const place of await placesOf(target)) await deleteKeys(place, prefix);
    } else if (kind === 'ingest') {
      const { PointsQuery } = await import('../ingest/points-query.js');
      const query = await PointsQuery.open(url, 'server');
      await query.remove('server', prefix).finally(() => query.close());
    }
    return undefined;
  } catch (thrown) {
    const what = { mysql: 'tables', ingest: 'measurements of the database server' }[kind as string] ?? 'keys';
    return `${what} whose names begin with ${prefix} may be left on the server of ${kind}: ${toBoundaryError(thrown).message}`;
  }
}

async function dropTables(url: string, prefix: string): Promise<void> {
  await using client = await SqlClient.connect(url, { connections: 1 });
  const names = (await client.query('SHOW TABLES')).rows().flatMap((row) => Object.values(row).map(String));
  for (const name of names.filter((each) => each.startsWith(prefix))) {
    await client.query(`DROP TABLE ${name}`, { signal: AbortSignal.timeout(DROP_WITHIN_MS) });
  }
}

async function deleteKeys(url: string, prefix: string): Promise<void> {
  await using client = await KvClient.connect(url);
  let cursor = '0';
  do {
    const scan = client.pipeline().command('SCAN', cursor, 'MATCH', `${prefix}*`, 'COUNT', SCAN_COUNT);
    const replies = await scan.execute();
    const refused = replies.error(0);
    if (refused !== undefined) throw refused;
    const [next, keys] = replies.value(0) as readonly [string, readonly string[]];
    const deletions = client.pipeline();
    for (const key of keys) deletions.command('DEL', key);
    if (keys.length > 0) await deletions.execute();
    cursor = next;
  } while (cursor !== '0');
}
