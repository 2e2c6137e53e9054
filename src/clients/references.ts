/** Parts that not every build has: they bring large trees of crates. */
import { addon } from '../addon.js';
import { allCommand, nativeFile, whyMissing } from '../binaries.js';
import { isEngineBuilt } from '../library/engine/built-engines.js';
import { isAllNative } from '../native-process.js';

/** The crates, by the names of clients in the matrix. */
const REFERENCES: ReadonlySet<string> = new Set([
  'arrow-flight',
  'duckdb',
  'hyperdb-api',
  'mysql_async',
  'redis',
  'reqwest',
  'sqlparser',
  'tonic',
]);

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
