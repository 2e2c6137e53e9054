import type { RatioInterval } from '../../dist/stats/ratio-interval.js';

export function verdictOf(interval: RatioInterval): 'slower' | 'undecided' | 'faster' | 'same';
export function intervalsOf(lanes: readonly (readonly (readonly number[])[])[]): RatioInterval[];
