/** Collects garbage while work is under way whose objects have no other references; run with --expose-gc. */
import { openEngine } from '../../../dist/library/engine/open-engine.js';

const table = { name: 't', columns: [{ name: 'id', kind: 'int', nullable: false }] };
const collecting = setInterval(() => gc(), 1);
const open = () => openEngine('embedded:');

const counted = await (async () => {
  const rows = 'SELECT count(*) AS n FROM range(20000000) WHERE hash(range) % 2 = 0';
  return (await (await (await open()).queryNaive(rows)).next())[0].n > 0n;
})();
const bytes = await (await open()).queryToArrow('SELECT max(hash(range)) AS n FROM range(20000000)');
const inserted = await (async () => {
  const engine = await open();
  await engine.createTable(table, 'create');
  const begin = () => {
    const inserter = engine.inserter(table);
    inserter.writeColumns(1 << 20, [null, null, new Uint8Array(4 << 20)]);
    return inserter;
  };
  await begin().drained();
  return begin().execute();
})();
const prepared = await (async () => {
  const rows = 'SELECT count(*) AS n FROM range(20000000) WHERE hash(range) % 2 = $1';
  const frame = await (await (await (await open()).prepare(rows)).query([0n])).next();
  return frame.byteLength > 0;
})();
// Frames that are never released, and readers that are never ended.
const engine = await open();
for (let round = 0; round < 20; round++) {
  const reader = await engine.query('SELECT range AS a, range AS b FROM range(1000000000)');
  for (let frame = 0; frame < 20; frame++) await reader.next();
}
clearInterval(collecting);
console.log(
  JSON.stringify({
    counted,
    ipc: bytes.byteLength > 0,
    inserted,
    prepared,
    rssBelowGiB: process.memoryUsage().rss < 2 ** 30,
  }),
);
process.exit(0);
