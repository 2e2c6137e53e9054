/**
 * The one place that loads the addon. Nothing else imports the generated `index.cjs`.
 */
import { createRequire } from 'node:module';

import type * as RawAddon from '../index.cjs';
import { addonError, platformName } from './addon-error.js';
import { PACKAGE_ROOT, fullAddonFile } from './binaries.js';
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
} from '../index.cjs';

const require = createRequire(import.meta.url);

/**
 * The variable by which napi-rs's loaders find an addon. Users may set it for the addon that is measured, which is not ours. It is set here
 * if an addon with all engines is installed.
 */
const OVERRIDE = 'NAPI_RS_NATIVE_LIBRARY_PATH';

/**
 * The raw addon. It is loaded when one of its members is first read: that throws `BB_ADDON_NOT_BUILT` if there is no binary for this
 * platform. So programs that only import the library do not wait for the addon. It is loaded without `await`, so that programs can
 * `require` a module that imports it.
 */
export const addon = lazyModule(load);

/** The path of the addon's binary, which it loads. */
export function addonPath(): string {
  const { Engine } = addon;
  // The loader has the same exports as the binary that it loads.
  const isBinary = (module: NodeJS.Module | undefined): boolean =>
    module?.filename.endsWith('.node') === true && module.exports?.Engine === Engine;
  return Object.values(require.cache).find(isBinary)?.filename ?? '';
}

function load(): typeof RawAddon {
  const override = process.env[OVERRIDE];
  setOverride(fullAddonFile());
  try {
    const loaded = require('../index.cjs') as typeof RawAddon;
    loaded.collectYoungBy(collectYoung);
    return loaded;
  } catch (cause) {
    throw addonError(cause, { root: PACKAGE_ROOT, platform: platformName() });
  } finally {
    setOverride(override);
  }
}

function setOverride(file: string | undefined): void {
  if (file === undefined) delete process.env[OVERRIDE];
  else process.env[OVERRIDE] = file;
}

/** V8's collector, once it was needed. */
let collect: ReturnType<typeof exposeCollector>;

/** Collects the buffers of released frames. Without a collector, the addon makes garbage instead. */
function collectYoung(): void {
  collect ??= exposeCollector() ?? (() => {});
  collect('young');
}
