/** The tables that pages have between `<!-- table: NAME -->` and `<!-- /table -->`, by their names. */
import { comparisonsOf } from '../../dist/compare/comparisons.js';
import { rateRatio } from '../../dist/compare/rate-ratio.js';
import { withEachSample } from '../../dist/records/run-file.js';
import { adviceFor } from '../../dist/report/advice.js';
import { callTable } from '../../dist/report/call-table.js';
import { modelBlocks } from '../../dist/report/model-table.js';
import { settingTable } from '../../dist/report/setting-table.js';
import { columns, list, paragraph, renderMarkdown, tableBlock } from '../../dist/report/document.js';
import { formatFactor, formatRateOf, formatRows } from '../../dist/report/format.js';
import { headToHeadTable } from '../../dist/report/head-to-head.js';
import { hostLines } from '../../dist/report/host-block.js';
import { noiseText } from '../../dist/report/noise.js';
import { networkText } from '../../dist/report/network-text.js';
import { requestAdviceFor } from '../../dist/report/request-advice.js';
import { runtimeTable } from '../../dist/report/runtime-table.js';
import { requestHeadToHeadTable } from '../../dist/report/request-tables.js';
import { ceilingFindings, ceilingTable } from '../lab/ceiling-table.mjs';
import { crossoverFindings, crossoverTable } from '../lab/crossover.mjs';
import { offeredLoadFindings, offeredLoadTable } from '../lab/offered-load-table.mjs';
import { MAIN, commandOf, comparisonsOn, isCommitted, newestRun, newestText, recordsById } from './runs.mjs';

/** What the one line about the machine takes from the lines about the host. */
const MACHINE = /^(CPU|Memory|OS|Node\.js|Rust): /;

const TABLES = {
  machine: () => {
    const { context } = newestRun(MAIN);
    const lines = hostLines(context).filter((line) => MACHINE.test(line));
    const rows = formatRows(context.config.rows.measurements);
    return [paragraph(`Measured with ${rows} rows. ${lines.join('; ')}.`)];
  },
  host: () => list(hostLines(newestRun(MAIN).context)),
  aa: () => {
    const { records, context } = newestRun('aa');
    const { margin, rows } = context.config;
    const comparisons = comparisonsOf(records, { rustLaneOf: () => undefined, margin });
    return [paragraph(`${noiseText(comparisons)} Measured with ${formatRows(rows.measurements)} rows.`)];
  },
  embedded: () => [...best(MAIN, 'embedded'), ...list(adviceFor(newestRun(MAIN), 'embedded'))],
  'embedded-lanes': () => lanes(MAIN, 'embedded', 1),
  'memory-lanes': () => lanes(MAIN, 'memory', 1),
  'embedded-workers': () => workers('embedded'),
  'memory-workers': () => workers('memory'),
  hyper: () => best('hyper', 'hyper'),
  boundary: () => calls('boundary'),
  codec: () => calls('codec'),
  runtimes: () => {
    if (!isCommitted('runtimes')) return [paragraph('No run of it is committed yet.')];
    const { records, context } = newestRun('runtimes');
    const completed = records.filter(({ outcome }) => outcome === 'completed');
    return [...tableBlock(runtimeTable(completed, context.versions.node)), measuredBy(newestRun('runtimes'))];
  },
  model: () => {
    if (!isCommitted('model')) return [paragraph('No run of it is committed yet.')];
    // The page has a heading of its own.
    return modelBlocks(newestRun('model').model).slice(1);
  },
  flight: () => best('flight', 'flight', 1),
  sail: () => best('sail', 'sail'),
  kv: () => requests('kv', 'redis'),
  'redis-cluster': () => requests('redis-cluster', 'redis-cluster'),
  'kv-all-cores': () => allCores('redis'),
  'sql-all-cores': () => allCores('mysql'),
  'leave-garbage': leaveGarbage,
  sql: () => requests('sql', 'mysql'),
  rest: () => requests('rest', 'rest'),
  ingest: () => lanes('ingest', 'in-process'),
  soak: () => requests('ingest', 'ingest'),
  hybrid: () => {
    const run = newestRun('hybrid');
    const completed = run.records.filter(({ outcome }) => outcome === 'completed');
    return [...marked(settingTable(completed, run.context.networks?.shards)), measuredBy(run)];
  },
  crossover: () => {
    const runs = JSON.parse(newestText('hybrid-crossover')).runs.map((run) => ({
      ...run,
      records: run.records.map(withEachSample),
    }));
    const networks = runs.flatMap(({ network }) => (network === undefined ? [] : [`${networkText(network)}.`]));
    return [...marked(crossoverTable(runs)), ...list(crossoverFindings(runs)), ...list(networks)];
  },
  'kv-ceiling': () => ceiling('kv'),
  'sql-ceiling': () => ceiling('sql'),
  'rest-ceiling': () => ceiling('rest'),
  'offered-load': () => {
    if (!isCommitted('offered-load')) return [paragraph('No run of it is committed yet.')];
    const { steps } = JSON.parse(newestText('offered-load'));
    return [...marked(offeredLoadTable(steps)), ...list(offeredLoadFindings(steps))];
  },
};

/** The Markdown of a table. */
export function tableText(name) {
  const table = TABLES[name];
  if (table === undefined) throw new Error(`no table is named "${name}"`);
  return renderMarkdown(table());
}

function best(kind, engine, workers) {
  const run = newestRun(kind);
  const bests = comparisonsOn(run, engine, workers).filter(({ kind }) => kind === 'best');
  return [...marked(headToHeadTable(bests, recordsById(run))), measuredBy(run)];
}

function lanes(kind, engine, workers) {
  const run = newestRun(kind);
  return [...marked(headToHeadTable(comparisonsOn(run, engine, workers), recordsById(run))), measuredBy(run)];
}

function workers(engine) {
  const run = newestRun('workers');
  const ofAddon = comparisonsOn(run, engine).filter(
    ({ kind, numerator }) => kind === 'lane' && numerator.includes('/napi/'),
  );
  return [...marked(headToHeadTable(ofAddon, recordsById(run))), measuredBy(run)];
}

/** The addon's clients in worker threads on all cores beside Rust's. */
function allCores(engine) {
  const run = newestRun('all-cores');
  const ofThreads = comparisonsOn(run, engine).filter(
    ({ kind, numerator }) => kind === 'lane' && numerator.includes('/napi/') && numerator.includes('/all-cores/'),
  );
  return [...marked(requestHeadToHeadTable(ofThreads, recordsById(run))), measuredBy(run)];
}

/** Each cell of a run that leaves garbage to V8 beside the same cell of the main run. */
function leaveGarbage() {
  const collectedOf = recordsById(newestRun(MAIN));
  const { records } = newestRun('leave-garbage');
  const rows = records
    .filter(({ outcome, side }) => outcome === 'completed' && side !== 'rust')
    .map((left) => [left, collectedOf(left.id)])
    .filter(([, collected]) => collected !== undefined)
    .map(([left, collected]) => {
      const { ratio, low, high } = rateRatio(left, collected);
      return [
        left.lane,
        `${left.side} · ${left.variant}`,
        formatRateOf(collected),
        formatRateOf(left),
        `${formatFactor(ratio)} (${low.toFixed(2)}–${high.toFixed(2)})`,
      ];
    });
  return tableBlock({ columns: columns('Lane', 'Node', '>Collected', '>Left to V8', '>Left / collected'), rows });
}

/** Rust's clients of a family of requests next to the load tool of its server's project. */
function ceiling(family) {
  if (!isCommitted('ceiling')) return [paragraph('No run of it is committed yet.')];
  const measurements = JSON.parse(newestText('ceiling')).measurements.filter((each) => each.family === family);
  if (measurements.length === 0) return [paragraph('No run of it is committed yet.')];
  return [...marked(ceilingTable(measurements)), ...list(ceilingFindings(measurements))];
}

function calls(kind) {
  if (!isCommitted(kind)) return [paragraph('No run of it is committed yet.')];
  const run = newestRun(kind);
  const completed = run.records.filter(({ outcome }) => outcome === 'completed');
  return [...tableBlock(callTable(completed, run.comparisons)), measuredBy(run)];
}

function measuredBy(run) {
  return paragraph(`Measured by: ${commandOf(run)}`);
}

function requests(kind, engine) {
  const run = newestRun(kind);
  const withoutLanes = comparisonsOn(run, engine).filter(({ kind }) => kind !== 'lane');
  const table = marked(requestHeadToHeadTable(withoutLanes, recordsById(run)));
  return [...table, measuredBy(run), ...list(requestAdviceFor(run, engine))];
}

function marked({ table, notes }) {
  return [...tableBlock(table), ...notes.map(paragraph)];
}
