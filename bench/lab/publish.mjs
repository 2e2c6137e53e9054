#!/usr/bin/env node
/**
 * Measures committed runs again, and replaces their files in `results/`. `--help` says how.
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { MAIN, RESULTS, kindOf } from '../docs/runs.mjs';
import { PUBLISHED } from '../docs/published.mjs';
import { temporaryFolder } from './frame.mjs';

const USAGE = `Usage: node bench/lab/publish.mjs KIND... | --all

Measures runs of these kinds again, one after the other, and replaces their files in results/: DATE-KIND.json in the compact
form. \`node bench/docs.mjs\` then writes the pages. Leave the machine alone meanwhile, and commit first: a run of a changed tree belongs
to no commit.

Kinds:
${Object.entries(PUBLISHED)
  .map(
    ([kind, { arguments: words = [], script }]) =>
      `  ${kind.padEnd(18)}${script ?? ''}${script ? ' ' : ''}${words.join(' ')}`,
  )
  .join('\n')}
`;

const ROOT = join(import.meta.dirname, '..', '..');

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { all: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
});
const kinds = values.all ? Object.keys(PUBLISHED) : positionals;
const unknown = kinds.find((kind) => !Object.hasOwn(PUBLISHED, kind));
if (values.help) {
  process.stdout.write(USAGE);
} else if (kinds.length === 0 || unknown !== undefined) {
  process.stderr.write(USAGE);
  process.exitCode = 2;
} else if (run('git', ['status', '--porcelain'], { stdio: 'pipe' }).stdout !== '') {
  process.stderr.write('the repository has changes that are not committed; commit them first\n');
  process.exitCode = 2;
} else {
  const measured = [];
  try {
    for (const kind of kinds) measured.push([kind, measure(kind, temporaryFolder())]);
  } finally {
    // Files are replaced at the end, since a run of a changed tree belongs to no commit.
    for (const [kind, files] of measured) replace(kind, files);
  }
}

/** Measures a kind in a directory. Returns its parts, each with its file. */
function measure(kind, directory) {
  const { arguments: words = [], script, compact = false, parts = [{ kind }] } = PUBLISHED[kind];
  process.stderr.write(`${kind}: ${new Date().toISOString()}\n`);
  if (script !== undefined) {
    const out = join(directory, 'out.json');
    run(process.execPath, [script, ...words, '--out', out]);
    if (compact) run(process.execPath, ['bench/lab/compact-run.mjs', out, '--out', out]);
    return [[kind, out]];
  }
  const out = join(directory, 'run');
  run(process.execPath, ['bench/benchmark.mjs', ...words, '--out', out]);
  return parts.map(({ kind: part, compact: how = [] }) => {
    const file = join(directory, `${part}.json`);
    run(process.execPath, ['bench/lab/compact-run.mjs', join(out, 'run.json'), ...how, '--out', file]);
    return [part, file];
  });
}

/** Replaces the file of each part of a kind in `results/`, and has links to it lead to the new one. */
function replace(kind, files) {
  const date = new Date().toISOString().slice(0, 10);
  for (const [part, file] of files) {
    for (const name of readdirSync(RESULTS)) if (kindOf(name) === part) rmSync(join(RESULTS, name));
    copyFileSync(file, join(RESULTS, `${date}${part === MAIN ? '' : `-${part}`}.json`));
    relink(part, date);
  }
  process.stderr.write(`${kind}: replaced\n`);
}

/** Has the links of the pages to the files of a kind lead to the files of `date`. */
function relink(kind, date) {
  const dates = new RegExp(`(?<=results/linux-x64/)\\d{4}-\\d\\d-\\d\\d(?=-${kind}\\.)`, 'g');
  const docs = join(ROOT, 'docs');
  for (const page of readdirSync(docs).filter((name) => name.endsWith('.md'))) {
    const path = join(docs, page);
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll(dates, date));
  }
}

function run(program, words, { stdio = 'inherit' } = {}) {
  const result = spawnSync(program, words, { cwd: ROOT, stdio, encoding: 'utf8' });
  if (result.status !== 0)
    throw new Error(`${program} ${words.join(' ')} ended with ${result.status ?? result.signal}`);
  return result;
}
