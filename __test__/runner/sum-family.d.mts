import type { Family } from '../../src/families/workload.js';

/** The fault of a cell. */
export type Breakage = 'open' | 'unsupported' | 'throw' | 'mismatch' | 'close' | 'hang' | 'deaf';

/**
 * A family that sums integers; `broken` holds faults by cell id, and `log` receives the runner's calls of the family.
 */
export function sumFamily(options?: { broken?: Readonly<Record<string, Breakage>>; log?: string[] }): Family;
