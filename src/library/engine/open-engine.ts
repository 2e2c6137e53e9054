import { type Engine, addon } from '../../addon.js';
import { duckdbLibrary } from '../../duckdb-library.js';

/** Opens the engine of a URI in the addon. It is told where libduckdb is if the URI needs it. */
export function openEngine(uri: string): Promise<Engine> {
  return addon.Engine.open(uri, uri.startsWith('embedded:') ? duckdbLibrary() : undefined);
}
