import { hardwareDifferences } from '../compare/hardware.js';
import { versionDifferences } from '../compare/versions.js';
import type { RunContext } from '../records/record.js';
import { BoundaryError } from '../errors.js';

/**
 * Throws `BB_RESUME_MISMATCH` if the host or build differs from the one on which the run started, since a run describes one of
 * each.
 */
export function requireSameHost(started: RunContext, now: RunContext): void {
  const differences = hardwareDifferences(started.host, now.host);
  if (started.build.addonSha256 !== now.build.addonSha256) differences.push('the build of the addon');
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
