import type { NativeBuild } from './host/provenance.js';
import { type ResourceReader, nodeResources } from './runner/resources.js';

/** The addon, once `loadNativeBuild` has loaded it: what only prints help must not wait for it. */
let loaded: typeof import('./addon.js') | undefined;

/** What the addon says of itself; `undefined` where it isn't built, which `host` must be able to say. */
export async function loadNativeBuild(): Promise<NativeBuild | undefined> {
  try {
    loaded = await import('./addon.js');
    return { ...loaded.addon.buildInfo(), addonPath: loaded.addonPath };
  } catch {
    return undefined;
  }
}

/** Reads the CPU time of a thread through the addon, where Node is too old to tell it. */
export const nativeResources: ResourceReader = {
  ...nodeResources,
  threadCpu: () => nodeResources.threadCpu() ?? loaded?.addon.threadCpu() ?? undefined,
};
