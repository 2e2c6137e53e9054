/** Parts that only `npm run build:all` builds: engines over Arrow Flight SQL, and crates that ours are compared with. */
import { addon } from '../addon.js';
import { nativeFeatures, nativeFile, whyMissing } from '../bench-files.js';

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

const OVER_FLIGHT: ReadonlySet<string> = new Set(['flight', 'sail']);

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
  if (missing !== undefined || !REFERENCES.has(client ?? '') || nativeFeatures().references) return missing;
  return `the crate ${client} is not in this build: npm run build:all`;
}

/** The reason why an engine can't be opened by this build, with the remedy. `undefined` if it can. */
export function whyEngineNotBuilt(engine: string): string | undefined {
  if (!OVER_FLIGHT.has(engine) || addon.buildInfo().flight) return undefined;
  return `the engine ${engine} is not in this build: npm run build:all`;
}
