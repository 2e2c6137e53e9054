#!/usr/bin/env node
/**
 * Writes the tables of README.md from the newest committed runs of `results/linux-x64`: `node bench/readme.mjs`. Each stands
 * between `<!-- tables: NAME -->` and `<!-- end -->`. With `--check` it changes nothing and fails where one is stale.
 */
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { parseRun } from '../dist/records/run-file.js';
import { adviceFor } from '../dist/report/advice.js';
import { armTable } from '../dist/report/arm-table.js';
import { crossoverFindings, crossoverTable } from '../dist/report/crossover.js';
import { heading, list, paragraph, renderMarkdown, tableBlock } from '../dist/report/document.js';
import { bestTable, laneTable } from '../dist/report/head-to-head.js';
import { hostLines } from '../dist/report/host-block.js';
import { networkText } from '../dist/report/network-text.js';
import { requestAdviceFor } from '../dist/report/request-advice.js';
import { requestBestTable } from '../dist/report/request-tables.js';

const ROOT = join(import.meta.dirname, '..');
const README = join(ROOT, 'README.md');
const RESULTS = join(ROOT, 'results', 'linux-x64');

const TABLES = {
  host: () => list(hostLines(newest('').context)),
  embedded: () => {
    const run = newest('');
    return [
      heading(3, 'Embedded engine (DuckDB), best against best'),
      ...marked(bestTable(comparisons(run, 'embedded'), recordOf(run))),
      ...list(adviceFor(run, 'embedded')),
      heading(3, 'Embedded engine, lane by lane, one worker'),
      ...marked(laneTable(comparisons(run, 'embedded', 1), recordOf(run))),
    ];
  },
  memory: () => {
    const run = newest('');
    return [
      heading(3, 'Bare memory: what is left is the boundary'),
      ...marked(bestTable(comparisons(run, 'memory'), recordOf(run))),
      ...marked(laneTable(comparisons(run, 'memory', 1), recordOf(run))),
    ];
  },
  hyper: () =>
    marked(
      ['hyper-insert', 'hyper-full-scan', 'hyper-queries'].map(newest).reduce(
        (merged, run) => {
          const { table, notes } = bestTable(comparisons(run, 'hyper'), recordOf(run));
          return {
            table: { columns: table.columns, rows: [...merged.table.rows, ...table.rows] },
            notes: [...new Set([...merged.notes, ...notes])],
          };
        },
        { table: { columns: [], rows: [] }, notes: [] },
      ),
    ),
  flight: () => {
    const run = newest('flight');
    return marked(bestTable(comparisons(run, 'flight', 1), recordOf(run)));
  },
  kv: () => requests('kv', 'redis'),
  sql: () => requests('sql', 'mysql'),
  rest: () => requests('rest', 'rest'),
  hybrid: () => {
    const run = newest('hybrid');
    const completed = run.records.filter(({ outcome }) => outcome === 'completed');
    return marked(armTable(completed, run.context.networks?.shards));
  },
  crossover: () => {
    const { runs } = JSON.parse(readFileSync(join(RESULTS, newestFile('hybrid-crossover')), 'utf8'));
    const networks = runs.flatMap(({ network }) => (network === undefined ? [] : [`${networkText(network)}.`]));
    return [...marked(crossoverTable(runs)), ...list(crossoverFindings(runs)), ...list(networks)];
  },
  ingest: () => {
    const run = newest('ingest');
    const posted = requestBestTable(comparisons(run, 'ingest'), recordOf(run));
    const soak = [
      heading(3, 'Posted to the reference server'),
      ...marked(posted),
      ...list(requestAdviceFor(run, 'ingest')),
    ];
    return [
      ...marked(laneTable(comparisons(run, 'in-process'), recordOf(run))),
      ...(posted.table.rows.length === 0 ? [] : soak),
    ];
  },
};

function requests(kind, engine) {
  const run = newest(kind);
  return [...marked(requestBestTable(comparisons(run, engine), recordOf(run))), ...list(requestAdviceFor(run, engine))];
}

/** The newest run of a kind: `2026-11-21-hyper-insert.json` is one of `hyper-insert`, `2026-11-21.json` one of ``. */
function newest(kind) {
  const name = newestFile(kind);
  return parseRun(readFileSync(join(RESULTS, name), 'utf8'), name);
}

function newestFile(kind) {
  const pattern = new RegExp(`^\\d{4}-\\d\\d-\\d\\d${kind && `-${kind}`}\\.json$`);
  const name = readdirSync(RESULTS)
    .filter((file) => pattern.test(file))
    .toSorted()
    .at(-1);
  if (name === undefined) throw new Error(`there is no run of the kind "${kind}" in ${RESULTS}`);
  return name;
}

function comparisons(run, engine, workers) {
  return run.comparisons.filter(
    (comparison) => comparison.engine === engine && (workers === undefined || comparison.workers === workers),
  );
}

function recordOf(run) {
  const byId = new Map(
    run.records.filter(({ outcome }) => outcome === 'completed').map((record) => [record.id, record]),
  );
  return (id) => byId.get(id);
}

function marked({ table, notes }) {
  return [...tableBlock(table), ...notes.map(paragraph)];
}

const before = readFileSync(README, 'utf8');
const after = before.replaceAll(
  /(<!-- tables: (\S+) -->\n)[^]*?(<!-- end -->)/g,
  (_, begin, name, end) => `${begin}\n${renderMarkdown(TABLES[name]())}\n${end}`,
);
if (!process.argv.includes('--check')) {
  writeFileSync(README, after);
} else if (after !== before) {
  process.stderr.write('README.md is stale: run node bench/readme.mjs\n');
  process.exit(1);
}
