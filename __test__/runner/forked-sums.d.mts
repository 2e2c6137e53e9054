import type { Family } from '../../src/families/workload.js';

export declare const forkedSums: Family;
