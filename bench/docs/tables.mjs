/** The tables, and the text of a terminal, that pages have between `<!-- table: NAME -->` and `<!-- /table -->`, by their names. */
import { completedOf, recordsById } from '../../dist/compare/cell-groups.js';
import { comparedAnew } from '../../dist/compare/comparisons.js';
import { judgeOf, marginOf } from '../../dist/compare/judge.js';
import { BOUNDARY_MATRIX } from '../../dist/families/boundary/matrix.js';
import { CODEC_MATRIX } from '../../dist/families/codec/topic.js';
import { withExpected } from '../../dist/model/cost-model.js';
import { parseRun, wholeRecord } from '../../dist/records/run-file.js';
import { adviceFor, adviceOf } from '../../dist/report/advice.js';
import { callTable, runtimeTable } from '../../dist/report/call-table.js';
import { clientLines, hostLines, networkText } from '../../dist/report/host-block.js';
import { noVerdictNotes } from '../../dist/report/marks.js';
import { modelBlocks } from '../../dist/report/model-table.js';
import { settingTable } from '../../dist/report/setting-table.js';
import { list, paragraph, renderMarkdown, tableBlock, tableOf } from '../../dist/report/document.js';
import { CPU_FACTOR_NOTE, RUST_FACTOR_NOTE, factorOf } from '../../dist/report/factor.js';
import { formatClock, formatRows } from '../../dist/report/format.js';
import { headToHeadTable } from '../../dist/report/head-to-head.js';
import { renderRunSummary } from '../../dist/report/summary-report.js';
import { requestHeadToHeadTable } from '../../dist/report/request-tables.js';
import { answerSides, bestRateText, workloadAnswersOf, workloadText } from '../../dist/report/workload-answers.js';
import {
  aloneTable,
  bendsTable,
  buildsTable,
  ladderTable,
  methodNotes,
  methodTable,
  mitataTable,
  peersBlocks,
} from '../lab/tables.mjs';
import { ceilingFindings, ceilingTable } from '../lab/ceiling-table.mjs';
import { crossoverFindings, crossoverTable } from '../lab/crossover.mjs';
import { offeredLoadFindings, offeredLoadTable } from '../lab/offered-load-table.mjs';
import { requireOneCommit } from './freshness.mjs';
import { kneeBlocks } from '../lab/hyper-sweep-table.mjs';
import { PUBLISHED, questionOf } from './published.mjs';
import { MAIN, commandOf, filesReadBy, isCommitted, newestName, newestRun, newestText } from './runs.mjs';

/** The lines about the host that go into the one line about the machine. */
const MACHINE = /^(CPU|CPU kind|Memory|OS|Node\.js|Rust): /;

const TABLES = {
  machine: () => {
    const { context } = newestRun(MAIN);
    const lines = hostLines(context).filter((line) => MACHINE.test(line));
    const rows = formatRows(context.config.rows.measurements);
    return [paragraph(`Measured with ${rows} rows. ${lines.join('; ')}.`)];
  },
  summary: () => {
    const text = renderRunSummary(newestRun(MAIN), { report: 'run.html', columns: 120 });
    return `\`\`\`text\n${text.trimEnd()}\n\`\`\``;
  },
  host: () => list(hostLines(newestRun(MAIN).context)),
  sides: () => sides(MAIN),
  results: resultsIndex,
  embedded: () => [...best(MAIN, 'embedded'), ...list(adviceFor(newestRun(MAIN), 'embedded'))],
  'embedded-inserts': () => lanes(MAIN, 'embedded', 1, 'insert.'),
  'embedded-queries': () => lanes(MAIN, 'embedded', 1, 'query.'),
  'memory-lanes': () => lanes('memory', 'memory', 1),
  'embedded-workers': () => workers('embedded'),
  'memory-workers': () => workers('memory'),
  hyper: () => best('hyper', 'hyper'),
  'hyper-sweep': () => ifCommitted('hyper-sweep', () => kneeBlocks(newestRun('hyper-sweep'))),
  boundary: () => calls('boundary'),
  'boundary-first': () => calls('boundary', ['nothing', 'numbers', 'text_in.short']),
  codec: () => calls('codec'),
  'codec-first': () => calls('codec', ['json_parse', 'msgpack_decode', 'arrow_decode', 'filter']),
  runtimes: () => runtimes(() => true),
  'runtimes-first': () => runtimes(({ workload }) => ['nothing', 'numbers', 'callback'].includes(workload)),
  model: () => ifCommitted('model', model),
  'model-coverage': () =>
    ifCommitted('model', () => {
      const blocks = model();
      const first = blocks.findIndex(({ kind }) => kind === 'heading');
      return blocks.slice(first).filter(({ kind }) => kind !== 'table');
    }),
  'model-bends': () => ifCommitted('model', () => bendsTable(newestRun('model').model, crossingOf)),
  flight: () => best('flight', 'flight', 1),
  sail: () => best('sail', 'sail'),
  kv: () => requests('kv', 'redis'),
  'redis-cluster': () => requests('redis-cluster', 'redis-cluster'),
  'kv-all-cores': () => clients('all-cores', 'redis', '/all-cores/'),
  'sql-all-cores': () => clients('all-cores', 'mysql', '/all-cores/'),
  'kv-processes': () => clients('processes', 'redis'),
  'sql-processes': () => clients('processes', 'mysql'),
  sql: () => requests('sql', 'mysql'),
  'sql-statements': () => ifCommitted('sql-statements', () => requests('sql-statements', 'mysql')),
  rest: () => requests('rest', 'rest'),
  'rest-columns': () => ifCommitted('rest-columns', () => requests('rest-columns', 'rest')),
  ingest: () => lanes('ingest', 'in-process'),
  soak: () => requests('ingest', 'ingest'),
  hybrid: () => {
    const run = newestRun('hybrid');
    return [
      ...marked(settingTable(completedOf(run.records), judgeOf(run), run.context.networks?.shards)),
      measuredBy(run),
    ];
  },
  crossover: () => {
    const runs = JSON.parse(newestText('hybrid-crossover')).runs.map((run) => ({
      ...run,
      records: run.records.map((record) => wholeRecord(record, record.id)),
    }));
    const networks = runs.flatMap(({ network }) => (network === undefined ? [] : [`${networkText(network)}.`]));
    return [...marked(crossoverTable(runs)), ...list(crossoverFindings(runs)), ...list(networks)];
  },
  method: () =>
    ifCommitted('method', () => {
      const { results } = JSON.parse(newestText('method'));
      return [...methodTable(results), methodNotes(results)];
    }),
  ladder: () => ifCommitted('ladder', () => ladderTable(JSON.parse(newestText('ladder')).ladder)),
  alone: () => ifCommitted('alone', () => aloneTable(JSON.parse(newestText('alone')).cells)),
  builds: () => ifCommitted('builds', () => buildsTable(JSON.parse(newestText('builds')).results)),
  peers: () => ifCommitted('peers', () => peersBlocks(JSON.parse(newestText('peers')))),
  mitata: () => ifCommitted('mitata', () => mitataTable(JSON.parse(newestText('mitata')).functions)),
  'own-hash': () => ownPackages('hash.bench.mjs'),
  'own-parse': () => ownPackages('parse.bench.mjs'),
  'own-get': () => ownPackages('get.bench.mjs'),
  'kv-ceiling': () => ceiling('kv'),
  'sql-ceiling': () => ceiling('sql'),
  'rest-ceiling': () => ceiling('rest'),
  'offered-load': () =>
    ifCommitted('offered-load', () => {
      const { steps } = JSON.parse(newestText('offered-load'));
      return [...marked(offeredLoadTable(steps)), ...list(offeredLoadFindings(steps))];
    }),
  'offered-load-findings': () =>
    ifCommitted('offered-load', () => list(offeredLoadFindings(JSON.parse(newestText('offered-load')).steps))),
};

/** The Markdown of a table. */
export function tableText(name) {
  const table = TABLES[name];
  if (table === undefined) throw new Error(`no table is named "${name}"`);
  const { value, files } = filesReadBy(table);
  const text = typeof value === 'string' ? `\n${value}\n` : renderMarkdown(value);
  // Each row of the index is of one run.
  if (name !== 'results') requireOneCommit(name, text, files);
  return text;
}

const NOT_COMMITTED = [paragraph('No run of it is committed yet.')];

function ifCommitted(kind, blocks) {
  return isCommitted(kind) ? blocks() : NOT_COMMITTED;
}

/** The best of each side of a run, for each workload. */
function sides(kind) {
  const run = newestRun(kind);
  const answers = workloadAnswersOf(run);
  const table = tableOf(answers, [
    { title: 'Workload', of: ({ node }) => workloadText(node) },
    ...answerSides(answers).map(([side, title]) => ({
      title: `>${title}`,
      of: (answer) => bestRateText(answer, side).replace(/ M\/s/, ' million rows/s'),
    })),
    { title: '>Addon factor', of: ({ addon }) => (addon === undefined ? '—' : factorOf(addon.judged)) },
    { title: '>Rust factor', of: ({ rust }) => (rust === undefined ? '—' : factorOf(rust.comparison)) },
  ]);
  const notes = noVerdictNotes(answers.flatMap(({ best }) => Object.values(best)));
  return [...marked({ table, notes }), ...list(adviceOf(run).flatMap(({ lines }) => lines)), measuredBy(run)];
}

/** The committed runs with their questions, and the first line of the answer of each. */
function resultsIndex() {
  const kinds = Object.keys(PUBLISHED).flatMap((kind) => PUBLISHED[kind].parts?.map((part) => part.kind) ?? [kind]);
  const rows = kinds.filter(isCommitted).map((kind) => {
    return `| ${questionOf(kind)} | ${answerOf(kind)} | [${kind}](linux-x64/${newestName(kind)}) |`;
  });
  return ['| Question | First line of the answer | File |', '| --- | --- | --- |', ...rows].join('\n');
}

/** The tables that answer the question of a kind, if they have other names. */
const ANSWERED_BY = {
  boundary: 'boundary-first',
  model: 'model-coverage',
  'hybrid-crossover': 'crossover',
  own: 'own-hash',
  ceiling: 'kv-ceiling',
};

/** The most figures of a row that stands for its table. */
const MOST_FIGURES = 4;

/** The first line of advice of a run, or else the first sentence of its table, or else the table's first row. */
function answerOf(kind) {
  const hasRecords = JSON.parse(newestText(kind)).records !== undefined;
  const [advice] = hasRecords ? adviceOf(newestRun(kind)).flatMap(({ lines }) => lines) : [];
  if (advice !== undefined) return advice;
  const blocks = TABLES[ANSWERED_BY[kind] ?? kind]();
  const [item] = blocks.flatMap(({ items = [] }) => items);
  const [{ table } = {}] = blocks.filter((block) => block.kind === 'table');
  if (item !== undefined || table === undefined) return item ?? blocks.find(({ kind: is }) => is === 'paragraph').text;
  return table.columns
    .slice(0, MOST_FIGURES)
    .map(({ title }, index) => `${title}: ${table.rows[0][index]}`)
    .join(', ');
}

/** The table of the comparisons of a run that are asked for. */
function headToHead(kind, isAsked, table = headToHeadTable) {
  const run = newestRun(kind);
  const asked = run.comparisons.filter(isAsked);
  return [...marked(table(asked, recordsById(run.records), marginOf(run))), measuredBy(run)];
}

/** Whether a comparison is of one engine, with any number of workers or with the given one. */
function isOn(comparison, engine, workers = comparison.workers) {
  return comparison.engine === engine && comparison.workers === workers;
}

/** Whether a comparison is of the addon with its lane in Rust. */
function isOfAddon({ kind, numerator }) {
  return kind === 'lane' && numerator.includes('/napi/');
}

function best(kind, engine, workers) {
  return headToHead(kind, (each) => each.kind === 'best' && isOn(each, engine, workers));
}

/** The lanes of an engine, of the workloads whose names begin with a word. */
function lanes(kind, engine, workers, word = '') {
  return headToHead(kind, (each) => isOn(each, engine, workers) && each.workload.startsWith(word));
}

function workers(engine) {
  return headToHead('workers', (each) => isOn(each, engine) && isOfAddon(each));
}

/** The addon's clients next to Rust's, of the cells that have `setting` in their names. */
function clients(kind, engine, setting = '') {
  const isAsked = (each) => isOn(each, engine) && isOfAddon(each) && each.numerator.includes(setting);
  return headToHead(kind, isAsked, requestHeadToHeadTable);
}

/** Rust's clients of a family of requests next to the load tool of its server's project. */
function ceiling(family) {
  return ifCommitted('ceiling', () => {
    const measurements = JSON.parse(newestText('ceiling')).measurements.filter((each) => each.family === family);
    if (measurements.length === 0) return NOT_COMMITTED;
    return [...marked(ceilingTable(measurements)), ...list(ceilingFindings(measurements))];
  });
}

/** The packages that a file of examples/packages compares. */
function ownPackages(file) {
  return ifCommitted('own', () => {
    const { runs } = JSON.parse(newestText('own'));
    const { packages, run: text } = runs.find((each) => each.file === file);
    const run = comparedAnew(parseRun(JSON.stringify(text), file));
    const completed = completedOf(run.records);
    const judge = judgeOf(run);
    return [
      ...tableBlock(callTable(completed, run.comparisons, judge)),
      ...noVerdictNotes(completed).map(paragraph),
      ...list(adviceOf(run).flatMap(({ lines }) => lines)),
      paragraph(`Measured by: npm i ${packages.join(' ')}; npx boundary-bench run ${file}`),
    ];
  });
}

/** The families of calls. A committed run may have workloads and variants that are gone since. */
const MATRICES = { boundary: BOUNDARY_MATRIX, codec: CODEC_MATRIX };

/** Whether the matrix of a kind has a variant of a workload. */
function isKnown(kind, { workload, side, variant }) {
  return MATRICES[kind].lanes.some(
    (lane) => lane.side === side && lane.variant === variant && lane.workloads.includes(workload),
  );
}

/** The calls of a family: all of them, or the single calls of some workloads. */
function calls(kind, workloads) {
  return ifCommitted(kind, () => {
    const run = newestRun(kind);
    const isShown = ({ batch, ...cell }) =>
      isKnown(kind, cell) && (workloads === undefined || (workloads.includes(cell.workload) && batch === undefined));
    const completed = completedOf(run.records).filter(isShown);
    const notes = noVerdictNotes(completed).map(paragraph);
    return [...tableBlock(callTable(completed, run.comparisons, judgeOf(run))), ...notes, measuredBy(run)];
  });
}

/** The same calls on several runtimes. */
function runtimes(isShown) {
  return ifCommitted('runtimes', () => {
    const run = newestRun('runtimes');
    const completed = completedOf(run.records).filter(isShown);
    return [...tableBlock(runtimeTable(completed, run.context.versions.node)), measuredBy(run)];
  });
}

/** The blocks of the cost model without their heading, since the page has one of its own. */
function model() {
  return modelBlocks(withExpected(newestRun('model').model, crossingOf)).slice(1);
}

/** The crossing in a call of a cell of the family `boundary`. */
function crossingOf(id) {
  return BOUNDARY_MATRIX.workloads[id.split('/')[1]]?.crossing;
}

function measuredBy(run) {
  const { seconds } = run.context;
  const time = seconds === undefined ? '' : `, in ${formatClock(seconds)}`;
  return paragraph([`Measured by: ${commandOf(run)}${time}`, ...clientLines(run.records, run.context)].join('. '));
}

function requests(kind, engine) {
  const table = headToHead(kind, (each) => isOn(each, engine) && each.kind !== 'lane', requestHeadToHeadTable);
  return [...list(adviceFor(newestRun(kind), engine)), ...table];
}

/** A table with its notes, but for those that the glossary has. */
function marked({ table, notes }) {
  const others = notes.filter((note) => note !== RUST_FACTOR_NOTE && note !== CPU_FACTOR_NOTE);
  return [...tableBlock(table), ...others.map(paragraph)];
}
