// Checks whether the cost model predicts cells that it was not fitted to. Prints predicted over measured, the share within 25%, and the worst.
//
//   node bench/lab/model.mjs MODEL.json [RUN.json ...]
//
// MODEL.json is a run of the ladders (docs/model.md). Its held-out cells are compared first. For other runs, it compares the time by
// which a cell of Node takes longer than the Rust cell that does the same work: the model predicts crossings alone, and knows nothing of an
// engine's work. If the model has no mechanism for a lane, or the run can't tell the difference, it says so.
import { readFileSync } from 'node:fs';

import { loadOfBytes, loadOfText, predictCall } from '../../dist/model/predict.js';
import { recordsById } from '../../dist/compare/cell-groups.js';
import { secondsPerItem } from '../../dist/compare/rate-ratio.js';
import { parseRun } from '../../dist/records/run-file.js';
import { formatDuration } from '../../dist/report/format.js';
import { quantile } from '../../dist/stats/quantile.js';
import { seededDraws } from '../../dist/stats/random.js';
import { Resampling } from '../../dist/stats/resampling.js';

/** The largest relative difference of a prediction that counts as right. */
const RIGHT = 0.25;
/** The share of predictions that should be right. */
const BAR = 0.9;
const RESAMPLES = 1000;

/** The rows that cross at once in the lanes of `measurements`. */
const BATCH_ROWS = JSON.parse(readFileSync(new URL('../matrix.json', import.meta.url), 'utf8')).families.measurements
  .batchRows;

/** The bytes that the `codec` family checks and codes, and the length of their base64. */
const CODED_BYTES = 4096;
const CODED_CHARACTERS = Math.ceil(CODED_BYTES / 3) * 4;

const bytesIn = (client) => ({ direction: 'in', lane: 'view', client, load: loadOfBytes(CODED_BYTES) });
const bytesOut = (client, lane) => ({ direction: 'out', lane, client, load: loadOfBytes(CODED_BYTES) });
const text = (direction, client) => ({ direction, lane: 'call', client, load: loadOfText(CODED_CHARACTERS) });

const OTHER_OBJECTS = 'its objects have more fields than the rows of the ladders';

/**
 * The data that the lanes of other families carry across in one call, by family, and by lane or by workload and client:
 * the direction, the lane and client of the `boundary` family that do the same, and the load. Without a load, it is the
 * load of the cell's rows. A text instead is the reason why the model can't predict a lane.
 */
const CARRIED = {
  codec: {
    'utf8_check napi-rs': [bytesIn('napi-rs')],
    'utf8_check node-api': [bytesIn('node-api')],
    'base64_encode napi-rs': [bytesIn('napi-rs'), text('out', 'napi-rs')],
    'base64_encode node-api': 'it makes its text by a function of Node',
    'base64_decode napi-rs': [text('in', 'napi-rs'), bytesOut('napi-rs', 'external')],
    'base64_decode node-api': [text('in', 'node-api'), bytesOut('node-api', 'pooled')],
    'json_parse napi-rs': OTHER_OBJECTS,
    'msgpack_decode napi-rs': OTHER_OBJECTS,
  },
  measurements: {
    'staged-row': [{ direction: 'in', lane: 'columns' }],
    columnar: [{ direction: 'out', lane: 'columns' }],
    'naive-objects': 'its rows have a bigint, of which there is no ladder',
    'naive-row': 'each value crosses in a call of its own, out of an array',
    columns: 'the engine copies the columns, which is its own work',
    objects: 'objects are made of columns and kept, which is work of JavaScript',
    'objects-number': 'objects are made of columns and kept, which is work of JavaScript',
    stream: 'objects are made of columns one by one, which is work of JavaScript',
    chunks: 'objects are made of columns one by one, which is work of JavaScript',
    cursor: 'rows are read through getters, which is work of JavaScript',
    'row-writer': 'values are written through setters, which is work of JavaScript',
    'arrow-ipc': 'encoding and decoding are most of it',
    row: 'another client has another way of its own',
  },
};

const [modelPath, ...paths] = process.argv.slice(2);
if (modelPath === undefined) {
  console.error('usage: node bench/lab/model.mjs MODEL.json [RUN.json ...]');
  process.exit(2);
}
const modelRun = read(modelPath);
if (modelRun.model === undefined) {
  console.error(`${modelPath} has no model: it measured no ladders`);
  process.exit(2);
}
const { mechanisms } = modelRun.model;
const compared = [];
const left = new Map();

console.log('| Cell | Measured | Predicted | Predicted / measured |');
console.log('| --- | ---: | ---: | ---: |');
for (const { heldOut } of mechanisms) {
  for (const { id, measured, predicted } of heldOut) show(id, measured, predicted);
}
for (const path of paths) compareWith(read(path));

const ratios = compared.map(({ ratio }) => ratio);
const right = ratios.filter((ratio) => Math.abs(ratio - 1) <= RIGHT).length;
const worst = compared.toSorted((a, b) => Math.abs(Math.log(b.ratio)) - Math.abs(Math.log(a.ratio))).slice(0, 10);
const percent = (part) => `${(part * 100).toFixed(0)}%`;
console.log(
  `\n${right} of ${ratios.length} (${percent(right / ratios.length)}) within ${percent(RIGHT)}; the bar is ${percent(BAR)}.`,
);
console.log(`Worst: ${worst.map(({ id, ratio }) => `${id} ${ratio.toFixed(2)}`).join(', ')}`);
for (const [reason, ids] of left)
  console.log(`\nNot compared, since ${reason}:\n${ids.map((id) => `- ${id}`).join('\n')}`);

function read(path) {
  return parseRun(readFileSync(path, 'utf8'), path);
}

function show(id, measured, predicted) {
  const ratio = predicted / measured;
  compared.push({ id, ratio });
  console.log(`| ${id} | ${formatDuration(measured)} | ${formatDuration(predicted)} | ${ratio.toFixed(2)} |`);
}

function leave(reason, id) {
  left.set(reason, [...(left.get(reason) ?? []), id]);
}

/** Compares the cells of Node of a run with the Rust cells that do the same. */
function compareWith({ records, comparisons }) {
  const recordOf = recordsById(records);
  for (const { kind, numerator, denominator } of comparisons) {
    const [node, rust] = [recordOf(numerator), recordOf(denominator)];
    if (kind !== 'lane' || node === undefined || rust === undefined) continue;
    const carried = carriedBy(node);
    if (typeof carried === 'string') {
      leave(carried, node.id);
      continue;
    }
    const difference = differenceOf(node, rust);
    if (difference.width > RIGHT) {
      leave('the run can’t tell the difference from Rust within 25%', node.id);
      continue;
    }
    const predicted = crossingOf(node, carried);
    if (typeof predicted === 'string') leave(predicted, node.id);
    else show(`${node.id} − ${rust.lane} of Rust`, difference.seconds, predicted);
  }
}

/** The data that a cell carries across, or the reason why the model can't say. */
function carriedBy({ id, family, workload, lane, side, workers = 1, connections }) {
  if (connections !== undefined) return 'requests wait for a server, and sides differ in their clients and sockets';
  if (side !== 'napi') return 'its side crosses by means that the model does not have';
  if (workers > 1) return 'several workers share the cores';
  const lanes = CARRIED[family];
  return (
    lanes?.[lane] ??
    lanes?.[`${workload} ${id.split('/')[4]}`] ??
    `the model has no mechanism for the lanes of ${family}`
  );
}

/** The predicted seconds by which a row, or a call, takes longer than the same within Rust. */
function crossingOf({ rows, calls, queries }, carried) {
  if (queries !== undefined) return 'few rows come out';
  // A row of `measurements` has four numbers.
  const count = calls === undefined ? Math.min(rows, BATCH_ROWS) : 1;
  const ownLoad = { what: 'rows', rows: count, numbers: 4 * count, texts: 0, bytes: 0 };
  let [seconds, doubt] = [0, 0];
  for (const { direction, lane, client, load = ownLoad } of carried) {
    const [there, here] = ['napi', 'rust'].map((side) => {
      const mechanism = mechanisms.find(
        (each) =>
          each.what === load.what &&
          each.direction === direction &&
          each.lane === lane &&
          each.side === side &&
          (side === 'rust' || client === undefined || each.client === client),
      );
      return mechanism && predictCall(mechanism, load);
    });
    if (there === undefined || here === undefined) return 'the model has no costs of its mechanism';
    if (there.certainty === 'unknown') return `the model can’t tell: ${there.doubts.join('; ')}`;
    seconds += there.seconds - here.seconds;
    // The work on both sides is not the crossing's, and may hide it.
    doubt = Math.hypot(doubt, there.high - there.seconds, here.high - here.seconds);
  }
  // Two values that cross in one call pay for one call.
  seconds -= (carried.length - 1) * emptyCall(carried[0].client);
  if (doubt > seconds) return 'the model can’t tell the crossing from the work on both sides';
  return seconds / count;
}

/** The seconds of a call with nothing, by the cheapest mechanism of a client. */
function emptyCall(client) {
  const costs = mechanisms.filter((each) => each.client === client).flatMap((each) => each.costs);
  return Math.min(...costs.filter(({ of }) => of === 'call').map(({ seconds }) => seconds));
}

/** The measured seconds per row by which one cell takes longer than the other, with half of the interval's width as a part of them. */
function differenceOf(node, rust) {
  const draw = seededDraws(1);
  const [over, under] = [node, rust].map((record) => new Resampling(secondsPerItem(record)));
  const drawn = Array.from({ length: RESAMPLES }, () => over.median(draw) - under.median(draw));
  const [low, middle, high] = [0.025, 0.5, 0.975].map((part) => quantile(drawn, part));
  return { seconds: middle, width: middle > 0 ? (high - low) / 2 / middle : Infinity };
}
