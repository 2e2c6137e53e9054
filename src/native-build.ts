import type { NativeBuild } from './host/provenance.js';
import { type ResourceReader, nodeResources } from './runner/resources.js';

/** The addon, once `loadNativeBuild` has loaded it. Commands that only print help must not wait for it. */
let loaded: typeof import('./addon.js') | undefined;

/** The build information of the addon. `undefined` if it isn't built: `host` must be able to report that. */
export async function loadNativeBuild(): Promise<NativeBuild | undefined> {
  try {
    loaded = await import('./addon.js');
    return { ...loaded.addon.buildInfo(), addonPath: loaded.addonPath() };
  } catch {
    return undefined;
  }
}

/** The resource reader that gets a thread's CPU time from the addon, if Node is too old to report it. */
export const nativeResources: ResourceReader = {
  ...nodeResources,
  threadCpu: () => nodeResources.threadCpu() ?? loaded?.addon.threadCpu() ?? undefined,
};
