/** The one place that loads the addon of crossings: what only the benchmark calls. No user of the library loads it. */
import { createRequire } from 'node:module';

import type * as RawCrossing from '../crossing.js';
import { crossingFile } from './binaries.js';
import { toBoundaryError } from './errors.js';
import { lazyModule } from './lazy-module.js';

export type { IngestStage, KvCalls, PrivateDelays, PrivateServer, PrivateShards } from '../crossing.js';

const require = createRequire(import.meta.url);

/** The addon of crossings. It is loaded when one of its members is first read. That throws `BB_NOT_INSTALLED` if it is not there. */
export const crossing = lazyModule(load);

function load(): typeof RawCrossing {
  const file = crossingFile();
  try {
    return loadAddon(file);
  } catch (thrown) {
    throw toBoundaryError(thrown);
  }
}

function loadAddon(file: string): typeof RawCrossing {
  try {
    return require(file) as typeof RawCrossing;
  } catch {
    // Linkers that keep unused libraries make the addon depend on libduckdb, which this loads, wherever npm put it. It is not loaded before
    // it is needed: a thread that is terminated while it loads these bindings ends the process.
    // oxlint-disable-next-line import/no-unassigned-import -- loaded for that effect alone
    require('@duckdb/node-bindings');
    return require(file) as typeof RawCrossing;
  }
}
