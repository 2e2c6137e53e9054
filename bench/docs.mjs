#!/usr/bin/env node
/**
 * Writes the generated parts of README.md, of the pages in docs and of the long tables in results/tables, from the newest committed runs of `results/linux-x64`:
 * `node bench/docs.mjs`. With `--check` it changes nothing, and fails if something is stale.
 *
 * - The pictures in docs/pictures. bench/docs/pictures.mjs has their names.
 * - docs/api.md, the reference of the package's exports, from the declarations in dist/. It fails if a public item has no comment.
 * - A table, or another block: `<!-- table: NAME -->` ... `<!-- /table -->`. bench/docs/tables.mjs has the names.
 * - A figure in a sentence: `<!-- figure: KIND | RUN | CELL -->0.98× (0.97–0.99)<!-- /figure -->`. RUN is the name of a file in
 *   results/linux-x64 without its date, or `main` for the file without a name. CELL is the id of a cell. KIND is
 *   - `rate`, rows or operations per second; `time`, of a sample; `row`, of one row; `p50` and `p99`, of the latency;
 *   - `lane`, the cell over its Rust lane as the run compares them: `lane | RUN | CELL | VERDICT`;
 *   - `ratio`, the rate of a cell over the rate of another: `ratio | RUN | CELL | CELL | VERDICT`.
 *   VERDICT is the sentence's word: `faster`, `slower`, `equivalent` or `inconclusive`. The script fails if the run says otherwise. A
 *   sentence that gives the figure alone leaves it out.
 *   A marker may run over several lines, but no line begins with one, since Markdown then takes the line for HTML.
 *
 * It always fails if README does not say within its first words what crossing costs and how to try it, if a figure
 * stands in prose without a marker, if a page is too long, or if a relative link of a page leads nowhere. It also fails
 * if the runner, the engine or the statistics changed after a run that a page shows was measured.
 */
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

import { apiReference } from './docs/api.mjs';
import { figureText, figuresByHand } from './docs/figures.mjs';
import { staleRuns, whyUnknown } from './docs/freshness.mjs';
import { brokenLinks } from './docs/links.mjs';
import { pictureFiles } from './docs/pictures.mjs';
import { filesReadBy } from './docs/runs.mjs';
import { tableText } from './docs/tables.mjs';

const ROOT = join(import.meta.dirname, '..');
const README = join(ROOT, 'README.md');
const RESULTS = join(ROOT, 'results', 'README.md');
const DOCS = join(ROOT, 'docs');
const API = join(DOCS, 'api.md');
const PICTURES = join(DOCS, 'pictures');
const MOST_LINES_OF_README = 150;
const FIRST_WORDS = 120;
/** The parts that README has within its first words: figures by their kinds and cells, and commands. */
const FIRST_PARTS = {
  'the cost of an empty call': /figure: row \| boundary \| boundary\/nothing\/call\/napi/,
  'the cost of two numbers': /figure: row \| boundary \| boundary\/numbers\/call\/napi/,
  'the cost of a short text': /figure: row \| boundary \| boundary\/text_in\.short\/call\/napi/,
  'the cost of a row as an object': /figure: row \| main \| \S+\/objects\/napi/,
  'the cost of a row in columns': /figure: row \| main \| \S+\/columnar\/napi/,
  'the largest gain of the addon': /figure: ratio \| main \| \S+\/napi\/\S+ \| \S+\/js\/\S+ \| faster/,
  'work in which the addon gains nothing': /figure: ratio \| main \| \S+\/napi\/\S+ \| \S+\/js\/\S+ -->/,
  'how to begin': /npx boundary-bench init/,
  'how to measure own code': /npx boundary-bench run /,
};
/** The most lines of a page beside its generated tables. */
const MOST_LINES_OF_PAGE = 200;
const MOST_BYTES_OF_PICTURE = 60_000;

const docs = readdirSync(DOCS, { recursive: true }).map((name) => join(DOCS, name));
const LONG_TABLES = join(ROOT, 'results', 'tables');
const longTables = readdirSync(LONG_TABLES).map((name) => join(LONG_TABLES, name));
const pages = [README, RESULTS, ...docs.filter((path) => path.endsWith('.md')), ...longTables];
const linking = [...pages, ...['CONTRIBUTING.md', 'CHANGELOG.md'].map((name) => join(ROOT, name))];
const isCheck = process.argv.includes('--check');

const { value: pictures, files: inPictures } = filesReadBy(pictureFiles);
const reference = apiReference();
const { value: inPages, files: shown } = filesReadBy(() =>
  pages.flatMap((path) => writtenAnew(path).map((complaint) => `${relative(ROOT, path)}: ${complaint}`)),
);
const runs = [...new Set([...inPictures, ...shown])].toSorted();
const unknownAge = whyUnknown(runs);
if (unknownAge !== undefined) process.stderr.write(`not checked, how old the runs are: ${unknownAge}\n`);
const complaints = [
  ...reference.complaints,
  ...missingAtFirst(readFileSync(README, 'utf8')),
  ...writtenWhereStale(API, reference.text),
  ...pictures.flatMap(([name, text]) => drawnAnew(name, text)),
  ...picturesWithout(pictures.map(([name]) => name)),
  ...inPages,
  ...staleRuns(runs),
  ...linking.flatMap((path) => brokenLinks(path).map((complaint) => `${relative(ROOT, path)}: ${complaint}`)),
];
for (const complaint of complaints) process.stderr.write(`${complaint}\n`);
if (complaints.length > 0) process.exitCode = 1;

/** The link to the definitions of a table's factors, below it. */
function definitionsOf(text, path) {
  // README says it in words.
  if (path === README || !/^\|.* (Rust|CPU|Addon) factor \|/m.test(text)) return '';
  return `\n[The factors](${relative(dirname(path), join(ROOT, 'docs/glossary.md'))})\n`;
}

/** Writes the page if it is stale, and returns the other problems with it. */
function writtenAnew(path) {
  const before = readFileSync(path, 'utf8');
  const wrong = [];
  const after = before
    .replaceAll(/(<!-- table: (\S+) -->\n)[^]*?(<!-- \/table -->)/g, (_, begin, name, end) => {
      const text = tableText(name);
      return `${begin}\n${text}${definitionsOf(text, path)}\n${end}`;
    })
    .replaceAll(/(<!-- figure: ([^]*?) -->)[^]*?(<!-- \/figure -->)/g, (whole, begin, marker, end) => {
      try {
        return `${begin}${figureText(marker)}${end}`;
      } catch (error) {
        wrong.push(error.message);
        return whole;
      }
    });
  if (after !== before && !isCheck) writeFileSync(path, after);
  const byHand = path === README ? after : after.replaceAll(/<!-- table: [^]*?<!-- \/table -->/g, '');
  const lines = byHand.trimEnd().split('\n').length;
  const most = mostLinesOf(path);
  return [
    ...wrong,
    ...(after !== before && isCheck ? ['stale: run node bench/docs.mjs'] : []),
    ...(lines > most ? [`${lines} lines, over ${most}`] : []),
    ...figuresByHand(after).map((line) => `a figure without a marker: ${line.trim()}`),
    ...[...after.matchAll(/^\s*(?:[-*] )?<!-- figure: .*/gm)].map(([line]) => `a line begins with a marker: ${line}`),
  ];
}

/** The parts that README does not have within its first words, and before its first table. Markers are no words. */
function missingAtFirst(readme) {
  const head = readme.split('<!-- table: ')[0].replaceAll(/\s+/g, ' ');
  const words = [...head.matchAll(/<!--.*?-->|[^\s<]+|</g)].filter(([word]) => !word.startsWith('<!--'));
  const first = head.slice(0, words[FIRST_WORDS]?.index);
  return Object.entries(FIRST_PARTS).flatMap(([part, pattern]) =>
    pattern.test(first) ? [] : [`README.md: its first ${FIRST_WORDS} words lack ${part}`],
  );
}

/** The most lines of a page. Pages that are generated as a whole may be longer. */
function mostLinesOf(path) {
  if (path === README) return MOST_LINES_OF_README;
  return path === API || longTables.includes(path) ? Infinity : MOST_LINES_OF_PAGE;
}

/** Writes a picture if it is stale, and returns the other problems with it. */
function drawnAnew(name, text) {
  const size = Buffer.byteLength(text);
  return [
    ...writtenWhereStale(join(PICTURES, name), text),
    ...(size > MOST_BYTES_OF_PICTURE ? [`docs/pictures/${name}: ${size} bytes, over ${MOST_BYTES_OF_PICTURE}`] : []),
    ...(pages.some((page) => readFileSync(page, 'utf8').includes(`pictures/${name})`))
      ? []
      : [`docs/pictures/${name}: on no page`]),
  ];
}

/** Writes a fully generated file if it is stale. With `--check`, returns the problem instead. */
function writtenWhereStale(path, text) {
  if (existsSync(path) && readFileSync(path, 'utf8') === text) return [];
  if (isCheck) return [`${relative(ROOT, path)}: stale: run node bench/docs.mjs`];
  writeFileSync(path, text);
  return [];
}

/** The problems with files in the folder of pictures that nothing makes. */
function picturesWithout(names) {
  return readdirSync(PICTURES).flatMap((file) =>
    names.includes(file) ? [] : [`docs/pictures/${file}: nothing makes it`],
  );
}
