import type { NativeBuild } from '../host/provenance.js';

/** What the addon says of itself; `undefined` where it isn't built, which `host` must be able to say. */
export async function loadNativeBuild(): Promise<NativeBuild | undefined> {
  try {
    const { addon, addonPath } = await import('../addon.js');
    return { ...addon.buildInfo(), addonPath };
  } catch {
    return undefined;
  }
}
