import { hardwareDifferences } from '../compare/hardware.js';
import { versionDifferences } from '../compare/versions.js';
import type { RunContext } from '../records/record.js';
import { BoundaryError } from '../errors.js';
import type { FamilyPlan } from './plan.js';
import type { RunDirectory } from './run-directory.js';

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

/**
 * Throws `BB_RESUME_MISMATCH` if families are to be measured into the directory of a run of others. A run knows its families by their rows,
 * and by the cells that it has measured.
 */
export function requireSameFamilies(
  { context: { config }, records }: RunDirectory,
  plans: readonly FamilyPlan[],
): void {
  const started = new Set([...Object.keys(config['rows'] ?? {}), ...[...records.values()].map(({ family }) => family)]);
  const now = plans.map(({ family }) => family.name);
  const planned = new Set(plans.flatMap(({ cells }) => cells.map(({ cell }) => cell.id)));
  const isSame = now.some((name) => started.has(name)) || started.size === 0;
  if (isSame && [...records.keys()].every((id) => planned.has(id))) return;
  throw new BoundaryError(
    'BB_RESUME_MISMATCH',
    `the run measured cells of ${[...started].join(', ')}; it can't be resumed with cells of ${now.join(', ')}`,
    { hint: 'Name the files of the run, and the same options, or start a new run.' },
  );
}

function mismatch(differences: readonly string[]): BoundaryError {
  return new BoundaryError(
    'BB_RESUME_MISMATCH',
    `the run was started on something else, and can't go on here (${differences.join('; ')})`,
    { hint: 'Start a new run.' },
  );
}
