/** Ends the process, by `process.exit` or by an uncaught error, while all kinds of work are under way. */
import { setTimeout as sleep } from 'node:timers/promises';

import { openEngine } from '../../../dist/library/engine/open-engine.js';

const [how, delay] = process.argv.slice(2);
const ENDLESS = 'SELECT range AS id FROM range(1000000000000)';
const SILENT = 'SELECT count(*) AS n FROM range(100000000000) WHERE hash(range) = 42';
const table = { name: 't', columns: [{ name: 'id', kind: 'int', nullable: false }] };

const engine = await openEngine('embedded:');
await engine.createTable(table, 'create');
const inserter = engine.inserter(table);
inserter.writeColumns(1 << 20, [null, null, new Uint8Array(4 << 20)]);
const reader = await engine.query(ENDLESS);
const naive = await engine.queryNaive(ENDLESS);
void [
  inserter.drained(),
  inserter.execute(),
  reader.next(),
  reader.next(),
  naive.next(),
  engine.query(SILENT),
  engine.queryToArrow(SILENT),
  engine.execute(`CREATE TEMP TABLE x AS ${SILENT}`),
];
await sleep(Number(delay));
if (how === 'throw') throw new Error('on purpose');
process.exit(7);
