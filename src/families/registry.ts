import type { Family } from './workload.js';

/**
 * The families of this package, each by the module that defines it. They are imported on demand, so that commands without a
 * family, such as `boundary-bench compare`, do not load the addon.
 */
const FAMILIES: readonly (() => Promise<Family>)[] = [
  async () => (await import('./measurements/family.js')).measurementsFamily,
  async () => (await import('./kv/family.js')).kvFamily,
  async () => (await import('./sql/family.js')).sqlFamily,
  async () => (await import('./rest/family.js')).restFamily,
  async () => (await import('./ingest/family.js')).ingestFamily,
  async () => (await import('./hybrid/family.js')).hybridFamily,
];

/** Every family of this package. */
export async function loadFamilies(): Promise<Family[]> {
  return Promise.all(FAMILIES.map((load) => load()));
}
