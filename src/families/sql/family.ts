import { defineRequestFamily } from '../requests/family.js';
import { CLIENT_OPTIONS } from '../requests/options.js';
import { type PlannedRequests, requestsOf } from '../requests/grid.js';
import { openRequestCell } from '../requests/load-cell.js';
import type { TargetServer } from '../requests/target-server.js';
import type { OpenCell } from '../workload.js';
import { checkAnswer } from './answer-check.js';
import { SQL_CLIENTS } from './clients.js';
import { openNapiRequester, requester, type SqlRequester, type SqlShared } from './requesters.js';
import { SqlSums } from './data.js';
import { SQL_MATRIX } from './matrix.js';
import { SqlPlan } from './plan.js';
import { openSqlServer, reachSqlServer, type SqlServer, whyUnserved } from './server.js';
import { SqlTable } from './table.js';

/** Small requests over the MySQL wire: statements on one table, and transactions as sysbench defines them. */
export const sqlFamily = defineRequestFamily({
  name: 'sql',
  module: import.meta.url,
  hasParts: true,
  server: 'mysql',
  matrix: SQL_MATRIX,
  openServer: (engines, _cells, shared) => openSqlServer(engines, shared),
  reach: reachSqlServer,
  whyUnserved: (planned, server) => whyUnserved(planned, (server as SqlServer).dialect),
  nativeOptions: (_planned, server) => ({ emptying: (server as SqlServer).dialect.emptying }),
  expected: (planned) => new SqlPlan(planned).expected().checksum(),
  openCell,
  packagesOf: SQL_CLIENTS.packagesOf,
  options: CLIENT_OPTIONS,
  versions: SQL_CLIENTS.versions,
});

async function openCell(planned: PlannedRequests, target: TargetServer): Promise<OpenCell> {
  const { cell } = planned;
  const server = target as SqlServer;
  const plan = new SqlPlan(planned);
  const table = await SqlTable.open(server.url, `${server.newPrefix()}_${cell.workload}`, plan, server.dialect);
  let sums = new SqlSums();
  const work: SqlShared = { planned, plan, table: table.name, sums: () => sums };
  return openRequestCell<SqlRequester>(planned, server, {
    openRequester: () => openRequester(work, server),
    expected: plan.expected().checksum(),
    prepare: async (signal) => {
      sums = new SqlSums();
      await table.reset(signal);
    },
    checksum: async (signal) => (plan.writes ? await table.sums(sums.affected, signal) : sums).checksum(),
    verify: async (send, signal, [requester]) => {
      if (plan.writes) {
        await send();
        return table.checkContents(signal);
      }
      for (let index = 0; index < requestsOf(cell); index += 1) {
        signal.throwIfAborted();
        for (const [step, answer] of await requester!.answers(index)) checkAnswer(step, answer, plan);
      }
    },
    // After the requesters, since an open transaction would keep the table from being dropped.
    close: () => table.close(),
  });
}

async function openRequester(work: SqlShared, { url, dialect }: SqlServer): Promise<SqlRequester> {
  const { cell, clientModule, setting } = work.planned;
  if (cell.side === 'napi' && clientModule === undefined) return openNapiRequester(work, url);
  return requester(work, await (await SQL_CLIENTS.of(work.planned)).connect(url, setting, dialect.typesIntegers));
}
