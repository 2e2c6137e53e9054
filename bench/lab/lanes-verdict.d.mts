import type { RatioInterval } from '../../dist/stats/ratio-interval.js';

export function verdictOf(interval: RatioInterval): 'slower' | 'undecided' | 'faster' | 'not slower' | 'same';
export function intervalsOf(lanes: readonly (readonly (readonly number[])[])[]): RatioInterval[];
