/**
 * Corrupts and cuts Arrow IPC bytes and gives them to both engines. Takes a seed and the number of rounds; prints how
 * often the bytes were accepted, and how often refused, by error code.
 */
import { tableFromArrays, tableToIPC } from 'apache-arrow';

import { openEngine } from '../../../dist/library/engine/open-engine.js';

const [seed, rounds] = process.argv.slice(2).map(Number);
const EXTREMES = [-1n, 1n << 40n, 1n << 62n, -(1n << 63n), 0n];

let state = seed;
/** An integer of 0 to `end - 1`; mulberry32. */
function random(end) {
  state = (state + 0x6d2b79f5) | 0;
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
  return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * end);
}

const column = (name, kind) => ({ name, kind, nullable: true });
const all = {
  name: 'everything',
  columns: [
    column('b', 'bool'),
    column('i', 'int'),
    column('l', 'bigint'),
    column('d', 'double'),
    column('t', 'text'),
    column('y', 'bytes'),
    column('ts', 'timestamp'),
    { ...column('p', 'decimal'), precision: 9, scale: 2 },
  ],
};
const words = { name: 'words', columns: [column('s', 'text')] };
const SELECT_ALL =
  "SELECT range % 3 = 0 AS b, range::INT AS i, range AS l, range / 7 AS d, CASE WHEN range % 5 > 0 THEN 'text' || range " +
  "END AS t, 'abc'::BLOB AS y, TIMESTAMP '2020-01-01' AS ts, 1.25::DECIMAL(9, 2) AS p FROM range(300)";

const engines = await Promise.all(['embedded:', 'memory:'].map((uri) => openEngine(uri)));
const sources = [
  [all, new Uint8Array(await engines[0].queryToArrow(SELECT_ALL, 100))],
  // The text column is dictionary-encoded.
  [words, tableToIPC(tableFromArrays({ s: ['a', 'b', 'a', 'c'] }), 'stream')],
];

function corrupted(bytes) {
  const copy = bytes.slice();
  for (let times = 1 + random(4); times > 0; times--) {
    const at = random(copy.length - 8);
    if (random(3) === 0) new DataView(copy.buffer).setBigInt64(at & ~7, EXTREMES[random(EXTREMES.length)], true);
    else copy[at] = random(2) === 0 ? copy[at] ^ (1 << random(8)) : [0, 127, 128, 255][random(4)];
  }
  return copy;
}

const outcomes = { taken: 0 };
for (let round = 0; round < rounds; round++) {
  const engine = engines[random(2)];
  const [table, bytes] = sources[random(2)];
  const given = corrupted(bytes);
  const cut = random(3) === 0 ? random(given.length) : given.length;
  await engine.createTable(table, 'replace');
  const inserter = engine.inserter(table);
  try {
    inserter.writeIpc(given.subarray(0, cut));
    inserter.writeIpc(given.subarray(cut));
    await inserter.execute();
    // Accepted rows must be intact: every value is read again.
    const frames = await engine.query(`SELECT * FROM ${table.name}`);
    while ((await frames.next()) !== null);
    const objects = await engine.queryNaive(`SELECT * FROM ${table.name}`);
    while ((await objects.next()) !== null);
    outcomes.taken++;
  } catch (error) {
    const code = /^\[(\w+)\] /.exec(error.message)?.[1] ?? `${error.name}: ${error.message}`;
    outcomes[code] = (outcomes[code] ?? 0) + 1;
    await inserter.abort();
  }
}
console.log(JSON.stringify(outcomes));
