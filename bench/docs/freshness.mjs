/**
 * Checks whether the committed runs that pages show were measured by the present method: nothing of it changed since a run's commit. Runs
 * that are known to be older are in old-runs.json, with the reason, which their tables print. That list can only shrink.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { kindOf, provenanceOf } from './runs.mjs';

const ROOT = join(import.meta.dirname, '..', '..');

/** The source paths that decide the figures of a run: the runner, the statistics and the engine. */
export const METHOD_PATHS = ['src/runner', 'src/fork-main.ts', 'src/stats', 'src/compare', 'native/engine'];

/**
 * The commits that change these paths and no figure, with the evidence: files that were moved, say, or a paired measurement. With `kinds`,
 * no figure of runs of these kinds.
 */
const HARMLESS = JSON.parse(readFileSync(join(import.meta.dirname, 'harmless-changes.json'), 'utf8'));

export const OLD_RUNS = JSON.parse(readFileSync(join(import.meta.dirname, 'old-runs.json'), 'utf8'));

/** The paths of `METHOD_PATHS` that changed since a commit, by git, for a run of a kind; `unknown` with the reason if git can't tell. */
export function changedSince(commit, { kind, root = ROOT, harmless = HARMLESS } = {}) {
  const git = (...words) => spawnSync('git', ['-C', root, ...words], { encoding: 'utf8' });
  if (git('rev-parse', '--git-dir').status !== 0) return { unknown: 'this is no clone of the repository' };
  if (git('cat-file', '-e', `${commit}^{commit}`).status !== 0) {
    const isShallow = git('rev-parse', '--is-shallow-repository').stdout.trim() === 'true';
    return isShallow
      ? { unknown: 'the clone is shallow; git fetch --unshallow gets its history' }
      : { changed: [`the history, which has no commit ${commit.slice(0, 8)}`] };
  }
  const since = git('log', '--format=%H', `${commit}..HEAD`, '--', ...METHOD_PATHS)
    .stdout.trim()
    .split('\n');
  const isHarmless = (change) =>
    harmless.some(({ commit: known, kinds }) => known === change && (kinds?.includes(kind) ?? true));
  if (since.every((change) => change === '' || isHarmless(change))) return { changed: [] };
  return { changed: METHOD_PATHS.filter((path) => git('diff', '--quiet', commit, 'HEAD', '--', path).status !== 0) };
}

/** The problems with the age of the runs that the pages show, given by their file names, and with the list of old runs. */
export function staleRuns(shown, { old = OLD_RUNS, changesOf = changedSince, provenance = provenanceOf } = {}) {
  const gone = old.runs.filter((name) => !shown.includes(name));
  return [
    ...gone.map((name) => `bench/docs/old-runs.json: ${name} is shown on no page; take it off the list`),
    ...shown.flatMap((name) => {
      const { commit, startedAt, command } = provenance(name);
      const isListed = old.runs.includes(name);
      if (isListed && Date.parse(startedAt) > Date.parse(old.before)) {
        return [`bench/docs/old-runs.json: ${name} is newer than ${old.method}; measure it anew: ${command}`];
      }
      const { changed = [], unknown } = changesOf(commit, { kind: kindOf(name) });
      if (unknown !== undefined) return [];
      if (isListed && changed.length === 0)
        return [`bench/docs/old-runs.json: ${name} is no longer old; take it off the list`];
      if (isListed || changed.length === 0) return [];
      return [
        `results/linux-x64/${name}: measured at ${commit.slice(0, 8)}, and since then ${changed.join(', ')} changed; measure it anew: ${command}`,
      ];
    }),
  ];
}

/** The reason why the age of runs can't be told here; `undefined` if it can. */
export function whyUnknown(shown) {
  for (const name of shown) {
    const { unknown } = changedSince(provenanceOf(name).commit);
    if (unknown !== undefined) return unknown;
  }
  return undefined;
}

/** Throws if a text has ratios and is made of runs of several commits: changes between them would be in the ratios. */
export function requireOneCommit(name, text, files, { provenance = provenanceOf } = {}) {
  const commits = new Set(files.map((file) => provenance(file).commit));
  if (commits.size > 1 && /\d×/.test(text)) {
    throw new Error(
      `the table "${name}" has ratios, and is made of runs of ${commits.size} commits: ${files.join(', ')}`,
    );
  }
}

/** The warning next to a table that was made of old runs; `undefined` for others. */
export function ageWarning(files, { old = OLD_RUNS, provenance = provenanceOf } = {}) {
  const commits = files
    .filter((name) => old.runs.includes(name))
    .map((name) => {
      const { commit, startedAt } = provenance(name);
      return `${startedAt.slice(0, 10)}, commit ${commit.slice(0, 8)}`;
    });
  if (commits.length === 0) return undefined;
  return `Warning: measured by ${old.method} (${[...new Set(commits)].join('; ')}). ${old.why}`;
}
