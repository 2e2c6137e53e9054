import type { Family } from '../../src/families/workload.js';

/** What goes wrong with a cell. */
export type Breakage = 'open' | 'unsupported' | 'throw' | 'mismatch' | 'close' | 'hang' | 'deaf';

/** A family that sums integers; `broken` says what goes wrong, by cell id, and `log` receives what the runner does. */
export function sumFamily(options?: { broken?: Readonly<Record<string, Breakage>>; log?: string[] }): Family;
