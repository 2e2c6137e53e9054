/** Parts that not every build has: they bring large trees of crates. */
import { execFileSync } from 'node:child_process';

import { addon } from '../addon.js';
import { allCommand, nativeEnvironment, nativeFile, whyMissing } from '../binaries.js';
import { isEngineBuilt } from '../library/engine/built-engines.js';

/** The crates, by the names of clients in the matrix. */
const REFERENCES: ReadonlySet<string> = new Set([
  'arrow-flight',
  'duckdb',
  'hyperdb-api',
  'mysql_async',
  'redis',
  'reqwest',
  'tonic',
]);

/** Whether the program of the side `rust` has all parts, once it was asked. */
let isAll: boolean | undefined;

/** The reason why a lane of the side `rust` can't be measured by this build, with the remedy. `undefined` if it can, and for other sides. */
export function whyNotBuilt({
  side,
  client,
}: {
  readonly side: string;
  readonly client?: string | undefined;
}): string | undefined {
  if (side !== 'rust') return undefined;
  const missing = whyMissing(nativeFile);
  if (missing !== undefined || !REFERENCES.has(client ?? '') || isAllNative()) return missing;
  return `the crate ${client} is not in this build: ${allCommand()}`;
}

/** The reason why the stages of `ingest` can't be measured by this build, with the remedy. `undefined` if they can. */
export function whyStageNotBuilt({ side }: { readonly side: string }): string | undefined {
  return side === 'js' || addon.buildInfo().all ? undefined : `the stages are not in this build: ${allCommand()}`;
}

/** The reason why an engine can't be opened by this build, with the remedy. `undefined` if it can. */
export function whyEngineNotBuilt(engine: string): string | undefined {
  return isEngineBuilt(engine) ? undefined : `the engine ${engine} is not in this build: ${allCommand()}`;
}

/** Asks the program of the side `rust` whether it has what only `npm run build:all` builds. Throws the errors of `nativeFile`. */
function isAllNative(): boolean {
  if (isAll !== undefined) return isAll;
  const features = execFileSync(nativeFile(), ['--features'], { encoding: 'utf8', env: nativeEnvironment() });
  isAll = (JSON.parse(features) as { readonly all: boolean }).all;
  return isAll;
}
