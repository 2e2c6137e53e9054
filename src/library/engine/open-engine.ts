import { type Engine, addon } from '../../addon.js';
import { allCommand } from '../../binaries.js';
import { duckdbLibrary } from '../../duckdb-library.js';
import { BoundaryError } from '../../errors.js';
import { isEngineBuilt } from './built-engines.js';

/**
 * Opens the engine of a URI in the addon. It is told where libduckdb is if the URI needs it. Throws `BB_NOT_INSTALLED`, with the command
 * that brings the engine, if the addon was built without it.
 */
export async function openEngine(uri: string): Promise<Engine> {
  const [name] = uri.split(/[+:]/, 1) as [string];
  if (!isEngineBuilt(name)) {
    throw new BoundaryError('BB_NOT_INSTALLED', `the engine ${name} is not in this build`, {
      hint: `Get it: ${allCommand()}`,
    });
  }
  return await addon.Engine.open(uri, uri.startsWith('embedded:') ? duckdbLibrary() : undefined);
}
