import { addon } from '../../addon.js';
import { allCommand } from '../../binaries.js';
import { BoundaryError, UNSUPPORTED } from '../../errors.js';

/** The functions of the addon for shards. Throws `BB_UNSUPPORTED` if the addon was built without them. */
export function rawShards(): typeof addon {
  if (addon.buildInfo().all) return addon;
  throw new BoundaryError(UNSUPPORTED, 'shards are not in this build of the addon', {
    hint: `Get them: ${allCommand()}`,
  });
}
