/**
 * The one place that loads the addon.
 */
import { createRequire } from 'node:module';

import type * as RawAddon from '../index.js';
import { addonError, platformName } from './addon-error.js';
import { PACKAGE_ROOT, addonFile } from './binaries.js';
import { exposeCollector } from './collect-garbage.js';
import { lazyModule } from './lazy-module.js';

export type {
  BuildInfo,
  Cancel,
  ColumnKind as RawColumnKind,
  ColumnSpec,
  CreateMode as RawCreateMode,
  Engine,
  FrameReader,
  HttpBody,
  HttpLoop,
  HttpOrigin,
  JsonPaths,
  JsonRows,
  KvConnection,
  KvLoop,
  NaiveInserter,
  NaiveReader,
  RawAggregate,
  RawColumnsReader,
  RawInserter,
  RawLineParser,
  RawShardClient,
  RawShardFilling,
  RawShardRows,
  RawShardScan,
  RawShardStore,
  SqlLoop,
  SqlShapes,
  Statement,
  TableSpec,
} from '../index.js';

const require = createRequire(import.meta.url);

/**
 * The raw addon. It is loaded when one of its members is first read: that throws `BB_ADDON_NOT_BUILT` if there is no binary for this
 * platform. So programs that only import the library do not wait for the addon. It is loaded without `await`, so that programs can
 * `require` a module that imports it.
 */
export const addon = lazyModule(load);

let loadedFile = '';

/** The path of the addon's binary, which it loads. */
export function addonPath(): string {
  void addon.Engine;
  return loadedFile;
}

function load(): typeof RawAddon {
  try {
    loadedFile = addonFile();
    const loaded = require(loadedFile) as typeof RawAddon;
    loaded.collectYoungBy(collectYoung);
    return loaded;
  } catch (cause) {
    throw addonError(cause, { root: PACKAGE_ROOT, platform: platformName() });
  }
}

/** V8's collector, once it was needed. */
let collect: ReturnType<typeof exposeCollector>;

/** Collects the buffers of released frames. Without a collector, the addon makes garbage instead. */
function collectYoung(): void {
  collect ??= exposeCollector() ?? (() => {});
  collect('young');
}
