import { type Engine, addon } from '../../addon.js';
import { allCommand } from '../../binaries.js';
import { duckdbLibrary } from '../../duckdb-library.js';
import { BoundaryError, toBoundaryError } from '../../errors.js';

/**
 * Opens the engine of a URI in the addon. It is told where libduckdb is if the URI needs it. Throws `BB_NOT_INSTALLED`, with the command
 * that brings the engine, if the addon was built without it.
 */
export async function openEngine(uri: string): Promise<Engine> {
  try {
    return await addon.Engine.open(uri, uri.startsWith('embedded:') ? duckdbLibrary() : undefined);
  } catch (thrown) {
    const error = toBoundaryError(thrown);
    if (error.code !== 'BB_NOT_INSTALLED' || error.hint !== undefined || addon.buildInfo().all) throw error;
    throw new BoundaryError(error.code, error.message, { hint: `Get it: ${allCommand()}`, cause: thrown });
  }
}
