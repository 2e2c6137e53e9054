#!/usr/bin/env node
/**
 * Do the committed ratios of our library to other clients hold without the runner? `node bench/lab/fair.mjs [--lane A,B] [--seconds 20]`
 * compares them: on DuckDB by plain loops, elsewhere by the work of cells. Each side is the fastest of its ways, in a process of its own. Both take
 * slices in turns, in both orders, by several pairs of processes, for `--seconds` in all. A ratio is the median of the ratios of neighbouring
 * slices, with its interval of 95 %. It exits with 1 if one differs by more than 15 % from the ratio of the newest committed run with cells of
 * both sides.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { rateRatio } from '../../dist/compare/rate-ratio.js';
import { openTarget } from '../../dist/families/requests/target-server.js';
import { itemsOf } from '../../dist/records/record.js';
import { parseRun } from '../../dist/records/run-file.js';
import { median } from '../../dist/stats/quantile.js';
import { rateOf } from '../../dist/stats/summary.js';
import { RESULTS } from '../docs/runs.mjs';
import { DUCKDB_LANES, duckDbWays } from './fair-duckdb.mjs';
import { garbageOfSlices, slicesInTurn } from './in-turn.mjs';
import { openTask, OURS, requests, sampler, TASKS } from './peer-ways.mjs';
import { optionsOf, startAsked } from './frame.mjs';

const lines = (workload) => ({ family: 'ingest', engines: ['in-process'], workload, lane: 'batch' });
/** The other lanes: the cells that do them, and the names of their tasks. */
const CELLS = {
  'kv-get-1': requests('kv', 'redis', 'get', 'call', 1, 1),
  'kv-get-32': { task: 'redis-get', ...TASKS['redis-get'] },
  'kv-mget-64': { task: 'redis-mget-64', ...TASKS['redis-mget-64'] },
  'sql-select-8': { task: 'mysql-select', ...TASKS['mysql-select'] },
  'rest-read-8': { task: 'http-read', ...TASKS['http-read'] },
  'lines-parse': lines('line_protocol_parse'),
  'lines-encode': lines('line_protocol_encode'),
};
const MOST_APART = 1.15;
const [PAIRS, LEAST_ROUNDS, WARM_UP_SLICES] = [3, 5, 5];

const names = [...Object.keys(DUCKDB_LANES), ...Object.keys(CELLS)];
const { values } = optionsOf({ seconds: '20', lane: undefined, side: undefined, url: undefined });
const seconds = Number(values.seconds);
const asked = values.lane?.split(',') ?? names;
if (values.side !== undefined) await serve(await waysOf(values.side, values.url));
else if (asked.some((lane) => !names.includes(lane))) {
  console.error(`Usage: node bench/lab/fair.mjs [--lane A,B] [--seconds 20]. Lanes: ${names.join(', ')}`);
  process.exitCode = 2;
} else for (const lane of asked) await compare(lane);

/** The ways of a lane, with the ids of their cells if they have any. `open` opens one, and returns a function that takes a slice of it. */
async function waysOf(lane, url) {
  if (Object.hasOwn(DUCKDB_LANES, lane)) return duckDbWays(lane);
  const uris = url === '' ? {} : { [CELLS[lane].engines[0]]: url };
  const { ways } = await openTask(new Map(), { ...CELLS[lane], sides: ['napi', 'js'], uris });
  return ways.map(({ peer, way, cell, isCell, open }) => {
    return { peer, way, id: isCell ? cell.id : undefined, open: async () => sampler(await open(), itemsOf(cell)) };
  });
}

/** Answers a process that compares: by the fastest way of each client, by opening one, or by a slice of it. */
async function serve(ways) {
  const garbage = garbageOfSlices();
  let slice;
  const fastest = async () => {
    const peers = [OURS, ...new Set(ways.map(({ peer }) => peer).filter((peer) => peer !== OURS))];
    const slices = [];
    for (const { open } of ways) slices.push(await open());
    const rates = (await slicesInTurn(slices, seconds / 2)).map(median);
    return peers.map((peer) => {
      const own = ways.map((way, place) => ({ ...way, rate: rates[place] })).filter((way) => way.peer === peer);
      const { way } = own.toSorted((a, b) => b.rate - a.rate)[0];
      return { peer, way, ids: own.flatMap(({ id }) => id ?? []) };
    });
  };
  const open = async ({ peer, way }) => {
    slice = await ways.find((one) => one.peer === peer && one.way === way).open();
    for (let warmUp = 0; warmUp < WARM_UP_SLICES; warmUp += 1) await slice();
    return true;
  };
  process.on('disconnect', () => process.exit());
  process.on('message', async (message) => {
    await garbage.clear();
    if (message === 'fastest') process.send(await fastest());
    else if (message === 'slice') process.send(await slice());
    else if (message.way === undefined) process.exit();
    else process.send(await open(message));
  });
}

/** Starts a process of a lane. */
function startSide(lane, url) {
  const words = ['--side', lane, '--url', url, '--seconds', values.seconds];
  return startAsked(lane, [process.execPath, import.meta.filename, ...words]);
}

/** Compares a lane of ours with the fastest way of each other client, and prints a line for each. */
async function compare(lane) {
  const [engine] = CELLS[lane]?.engines ?? [];
  const server =
    engine === undefined || engine === 'in-process' ? { url: '', close() {} } : await openTarget(engine, {});
  const chooser = startSide(lane, server.url);
  const [ours, ...peers] = await chooser.ask('fastest');
  await chooser.close();
  for (const peer of peers) {
    const ratios = [];
    for (let pair = 0; pair < PAIRS; pair += 1) ratios.push(...(await ratiosOf(lane, server.url, [ours, peer])));
    const sorted = ratios.toSorted((a, b) => a - b);
    // The interval of a median, by the binomial distribution of the ranks.
    const rank = Math.max(0, Math.floor(sorted.length / 2 - 0.98 * Math.sqrt(sorted.length)));
    const [ratio, low, high] = [median(sorted), sorted[rank], sorted.at(-1 - rank)].map((value) => value.toFixed(2));
    const committed = committedRatio(ours.ids, peer.ids);
    const apart = committed && Math.max(ratio / committed.ratio, committed.ratio / ratio);
    if (apart > MOST_APART) process.exitCode = 1;
    const verdict = committed
      ? `committed ${committed.ratio.toFixed(2)}× (${committed.file}), ${apart > MOST_APART ? 'not ' : ''}within 15 %`
      : 'no committed pair';
    console.log(`${lane}: ${ours.way} / ${peer.peer}, ${peer.way}: ${ratio}× (${low}–${high}), ${verdict}`);
  }
  await server.close();
}

/** The ratios of neighbouring slices of two ways, by a pair of processes. */
async function ratiosOf(lane, url, ways) {
  const sides = ways.map(() => startSide(lane, url));
  for (const [place, { peer, way }] of ways.entries()) await sides[place].ask({ peer, way });
  const ratios = [];
  const end = performance.now() + (1000 * seconds) / PAIRS;
  while (ratios.length < LEAST_ROUNDS || performance.now() < end) {
    const rates = [];
    for (const place of ratios.length % 2 === 0 ? [0, 1] : [1, 0]) rates[place] = await sides[place].ask('slice');
    ratios.push(rates[0] / rates[1]);
  }
  for (const side of sides) await side.close();
  return ratios;
}

/** The ratio of the fastest of our cells to the fastest of a client's, by the newest committed run that has both. */
function committedRatio(ours, others) {
  for (const file of readdirSync(RESULTS)
    .filter((name) => name.endsWith('.json'))
    .toSorted()
    .toReversed()) {
    const text = readFileSync(join(RESULTS, file), 'utf8');
    const isThere = (ids) => ids.some((id) => text.includes(`"id":"${id}"`));
    if (!isThere(ours) || !isThere(others)) continue;
    const { records } = parseRun(text, file);
    const [our, other] = [ours, others].map((ids) => {
      const found = records.filter(({ id, outcome }) => ids.includes(id) && outcome === 'completed');
      return found.toSorted((a, b) => rateOf(b) - rateOf(a))[0];
    });
    if (our && other) return { file, ratio: rateRatio(our, other).ratio };
  }
  return undefined;
}
