/** The committed runs, by their kinds. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

import { comparedAnew } from '../../dist/compare/comparisons.js';
import { parseRun } from '../../dist/records/run-file.js';
import { argumentsText } from '../../dist/runner/command-text.js';
import { LEAST_CALL_SECONDS } from '../../dist/runner/nothing-measured.js';

/** The folder of the committed runs. */
export const RESULTS = join(import.meta.dirname, '..', '..', 'results', 'linux-x64');

/** The kind of the file that has no kind in its name: the run of `node bench/benchmark.mjs 10000000`. */
export const MAIN = 'main';

const loaded = new Map();

/** The names of the files that were read since `filesReadBy` was called last. */
let read = new Set();

/** The newest run of a kind: `2026-11-21-hyper-insert.json` is one of `hyper-insert`, `2026-11-21.json` one of `main`. */
export function newestRun(kind) {
  const text = newestText(kind);
  if (!loaded.has(kind)) loaded.set(kind, comparedAnew(withoutFloors(parseRun(text, kind))));
  return loaded.get(kind);
}

/** A run whose cells with calls that take no time get no verdict: runs of earlier versions do not say so themselves. */
function withoutFloors(run) {
  const isFloor = ({ outcome, calls, summary }) =>
    outcome === 'completed' && calls !== undefined && summary.medianSeconds / calls < LEAST_CALL_SECONDS;
  const records = run.records.map((record) =>
    isFloor(record) ? { ...record, noVerdict: record.noVerdict ?? 'nothing-to-measure' } : record,
  );
  return { ...run, records };
}

/** The result of `make`, with the names of the committed files that it has read. */
export function filesReadBy(make) {
  const before = read;
  read = new Set();
  try {
    return { value: make(), files: [...read] };
  } finally {
    read = new Set([...before, ...read]);
  }
}

/** The provenance of a committed file: a run, or a file of bench/lab. */
export function provenanceOf(name) {
  const file = JSON.parse(readFileSync(join(RESULTS, name), 'utf8'));
  const { git } = file.context ?? file;
  return {
    commit: git.commit,
    command: file.context ? commandOf(file) : `node bench/lab/publish.mjs ${kindOf(name)}`,
  };
}

/** The kind of a file by its name: `ceiling` of `2026-11-24-ceiling.json`. */
export function kindOf(name) {
  return /^\d{4}-\d\d-\d\d-?(.*)\.json$/.exec(name)?.[1] || MAIN;
}

/** The command that measured a run. */
export function commandOf({ context }) {
  return `node bench/benchmark.mjs ${argumentsText(context)}`;
}

/** Whether there is a committed file of a kind. */
export function isCommitted(kind) {
  return newestName(kind) !== undefined;
}

/** The text of the newest file of a kind, also if it is no run. */
export function newestText(kind) {
  const name = newestName(kind);
  if (name === undefined) throw new Error(`there is no run of the kind "${kind}" in ${RESULTS}`);
  read.add(name);
  return readFileSync(join(RESULTS, name), 'utf8');
}

/** The name of the newest file of a kind. `undefined`: none is committed. */
export function newestName(kind) {
  const pattern = new RegExp(`^\\d{4}-\\d\\d-\\d\\d${kind === MAIN ? '' : `-${kind}`}\\.json$`);
  return readdirSync(RESULTS)
    .filter((file) => pattern.test(file))
    .toSorted()
    .at(-1);
}
