/**
 * The one place that loads the addon. Nothing else imports the generated `index.js`.
 */
// Loads libduckdb, whose name then satisfies the addon's dependency on it, wherever npm put the file.
// oxlint-disable-next-line import/no-unassigned-import -- imported for that effect alone
import '@duckdb/node-bindings';
import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

import type * as RawAddon from '../index.js';
import { BoundaryError } from './errors.js';

export type {
  BuildInfo,
  Cancel,
  ColumnKind as RawColumnKind,
  ColumnSpec,
  CreateMode as RawCreateMode,
  Engine,
  FrameReader,
  HttpAsyncCalls,
  HttpBlockingCalls,
  HttpBody,
  HttpLoop,
  HttpPlace,
  JsonPaths,
  JsonRows,
  IngestStage,
  KvAsyncCalls,
  KvBlockingCalls,
  KvConnection,
  KvLoop,
  NaiveInserter,
  NaiveReader,
  NativeRequests as RawNativeRequests,
  PrivateDelays,
  PrivateServer,
  PrivateShards,
  RawAggregate,
  RawColumnsReader,
  RawInserter,
  RawLineParser,
  RawShardClient,
  RawShardFilling,
  RawShardRows,
  RawShardScan,
  RawShardStore,
  SqlAsyncCalls,
  SqlBlockingCalls,
  SqlLoop,
  SqlShapes,
  Statement,
  TableSpec,
} from '../index.js';

/** The folder of `index.js` and of the addon's binary: one up from `src` and from `dist`. */
const packageRoot = fileURLToPath(new URL('..', import.meta.url));

/** The raw addon. Importing this module fails with `BB_ADDON_NOT_BUILT` if its binary is missing. */
export const addon: typeof RawAddon = await load();

/** The path of the addon's binary that was loaded. */
export const addonPath: string = loadedPath();

async function load(): Promise<typeof RawAddon> {
  try {
    return await import('../index.js');
  } catch (cause) {
    const prefix = `boundary-bench.${process.platform}-${process.arch}`;
    const isBuilt = readdirSync(packageRoot).some((file) => file.startsWith(prefix) && file.endsWith('.node'));
    throw isBuilt
      ? new BoundaryError('BB_ADDON_NOT_LOADED', `the addon in ${packageRoot} can't be loaded`, {
          hint: 'Build it again on this machine: npm run build',
          cause,
        })
      : new BoundaryError('BB_ADDON_NOT_BUILT', `${packageRoot} holds no addon for this platform (${prefix}.*.node)`, {
          hint: 'Build it: npm run build',
          cause,
        });
  }
}

function loadedPath(): string {
  const { cache } = createRequire(import.meta.url);
  const loaded = Object.values(cache).find((module) => module?.exports?.Engine === addon.Engine);
  return loaded?.filename ?? '';
}
