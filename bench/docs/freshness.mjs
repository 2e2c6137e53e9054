/** Checks whether the committed runs that pages show were measured by the present method: nothing of it changed since a run's commit. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { kindOf, provenanceOf } from './runs.mjs';

const ROOT = join(import.meta.dirname, '..', '..');

/** The source paths that decide the figures of a run: the runner, the statistics and the engine. */
export const METHOD_PATHS = ['src/runner', 'src/fork-main.ts', 'src/stats', 'src/compare', 'native/engine'];

/**
 * The commits that change these paths and no figure, with the evidence: files that were moved, say, or a paired
 * measurement. With `kinds`, no figure of runs of these kinds.
 */
const HARMLESS = JSON.parse(readFileSync(join(import.meta.dirname, 'harmless-changes.json'), 'utf8'));

/**
 * The paths of `METHOD_PATHS` that changed since a commit, by git, for a run of a kind; `unknown` with the reason if git
 * can't tell.
 *
 * @param {string} commit
 * @param {any} [options]
 */
export function changedSince(commit, { kind, root = ROOT, harmless = HARMLESS } = {}) {
  const git = (...words) => spawnSync('git', ['-C', root, ...words], { encoding: 'utf8' });
  if (git('rev-parse', '--git-dir').status !== 0) return { unknown: 'this is no clone of the repository' };
  // A commit of another clone that was only fetched is missing in the next clone.
  if (git('merge-base', '--is-ancestor', commit, 'HEAD').status !== 0) {
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

/** The problems with the age of the runs that the pages show, given by their file names. */
export function staleRuns(shown, { changesOf = changedSince, provenance = provenanceOf } = {}) {
  return shown.flatMap((name) => {
    const { commit, command } = provenance(name);
    const { changed = [] } = changesOf(commit, { kind: kindOf(name) });
    if (changed.length === 0) return [];
    return [
      `results/linux-x64/${name}: measured at ${commit.slice(0, 8)}, and since then ${changed.join(', ')} changed; measure it anew: ${command}`,
    ];
  });
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
