import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { lacks } from '../needs.js';
import { changedSince, requireOneCommit, staleRuns } from '../../bench/docs/freshness.mjs';
import { folderOfSuite } from '../temporary-folder.js';

const root = folderOfSuite();

const git = (...words: string[]): string =>
  execFileSync('git', ['-C', root, '-c', 'user.name=t', '-c', 'user.email=t@example.org', ...words], {
    encoding: 'utf8',
  }).trim();

/** A commit in which a file has a text. */
function commitOf(path: string, text: string): string {
  mkdirSync(join(root, path, '..'), { recursive: true });
  writeFileSync(join(root, path), text);
  git('add', '-A');
  git('commit', '-qm', path);
  return git('rev-parse', 'HEAD');
}

test.skipIf(lacks('git'))('a change of the runner makes a run stale, and a change of a page does not', () => {
  expect(changedSince('0'.repeat(40), { root })).toHaveProperty('unknown');
  git('init', '-q');
  const first = commitOf('src/runner/run.ts', '1');
  commitOf('docs/page.md', '1');
  expect(changedSince(first, { root })).toEqual({ changed: [] });
  commitOf('src/stats/quantile.ts', '1');
  commitOf('src/runner/run.ts', '2');
  expect(changedSince(first, { root })).toEqual({ changed: ['src/runner', 'src/stats'] });
  // Both changes must be known to be harmless.
  const [second, third] = git('log', '--format=%H', '-2').split('\n') as [string, string];
  const known = (kind: string, ...harmless: { commit: string; kinds?: string[] }[]) =>
    changedSince(first, { kind, root, harmless });
  const changed = ['src/runner', 'src/stats'];
  expect(known('kv', { commit: second })).toEqual({ changed });
  expect(known('kv', { commit: second }, { commit: third })).toEqual({ changed: [] });
  expect(known('kv', { commit: second }, { commit: third, kinds: ['sql', 'kv'] })).toEqual({ changed: [] });
  expect(known('codec', { commit: second }, { commit: third, kinds: ['sql', 'kv'] })).toEqual({ changed });
  expect(changedSince('0'.repeat(40), { root })).toEqual({ changed: ['the history, which has no commit 00000000'] });
  // The commit is here, and would not be in a clone of this branch.
  git('reset', '-q', '--hard', third);
  expect(changedSince(second, { root })).toHaveProperty('changed.length', 1);
});

describe('the runs that pages show', () => {
  const provenance = () => ({ commit: 'abcdef0123', command: 'node bench/x.mjs' });
  const stale = () => ({ changed: ['src/runner'] });
  const fresh = () => ({ changed: [] });

  it('are refused if the method changed, with the command that measures them again', () => {
    expect(staleRuns(['a.json'], { changesOf: stale, provenance })).toEqual([
      'results/linux-x64/a.json: measured at abcdef01, and since then src/runner changed; measure it anew: node bench/x.mjs',
    ]);
    expect(staleRuns(['a.json'], { changesOf: fresh, provenance })).toEqual([]);
  });

  it('make no ratio of two commits', () => {
    const apart = { provenance: (name: string) => ({ ...provenance(), commit: name }) };
    expect(() => requireOneCommit('t', '| 0.85× |', ['a', 'b'], apart)).toThrow('runs of 2 commits: a, b');
    expect(() => requireOneCommit('t', '| 12 M/s |', ['a', 'b'], apart)).not.toThrow();
    expect(() => requireOneCommit('t', '| 0.85× |', ['a', 'b'], { provenance })).not.toThrow();
  });
});
