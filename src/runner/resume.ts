import { hardwareDifferences } from '../compare/hardware.js';
import { versionDifferences } from '../compare/versions.js';
import type { RunContext } from '../records/record.js';
import { BoundaryError } from '../errors.js';

/** The binaries of a build. */
const BINARIES = [
  ['addonSha256', 'the addon'],
  ['crossingSha256', 'the addon of crossings'],
  ['nativeSha256', 'the program of the side rust'],
] as const;

/**
 * Throws `BB_RESUME_MISMATCH` if the host or build differs from the one on which the run started, since a run describes one of
 * each.
 */
export function requireSameHost(started: RunContext, now: RunContext): void {
  const differences = hardwareDifferences(started.host, now.host);
  for (const [hash, name] of BINARIES) {
    if (started.build[hash] !== now.build[hash]) differences.push(`the build of ${name}`);
  }
  differences.push(...versionDifferences(started.versions, now.versions));
  if (differences.length > 0) throw mismatch(differences);
}

/**
 * The context with the versions `told` by a family once it is open. Versions in `own`, this process's context, are not replaced.
 * Throws like `requireSameHost` if one of them changed.
 */
export function withVersions(started: RunContext, told: Readonly<Record<string, string>>, own: RunContext): RunContext {
  const added = Object.fromEntries(Object.entries(told).filter(([name]) => own.versions[name] === undefined));
  const differences = versionDifferences(started.versions, added);
  if (differences.length > 0) throw mismatch(differences);
  return { ...started, versions: { ...started.versions, ...added } };
}

function mismatch(differences: readonly string[]): BoundaryError {
  return new BoundaryError(
    'BB_RESUME_MISMATCH',
    `the run was started on something else, and can't go on here (${differences.join('; ')})`,
    { hint: 'Start a new run.' },
  );
}
