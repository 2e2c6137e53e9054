// @ts-check
/**
 * The family of sums as a module, so that forks can import it. The module's URL says by `broken` what goes wrong with which cell, and
 * by `log` the file to which each process appends its id and the engines that it was told.
 */
import { appendFileSync } from 'node:fs';

import { sumFamily } from './sum-family.mjs';

const { searchParams } = new URL(import.meta.url);
const family = sumFamily({ broken: JSON.parse(searchParams.get('broken') ?? '{}') });

/** @type {import('../../src/families/workload.ts').Family} */
export const forkedSums = {
  ...family,
  module: import.meta.url,
  async open(options, cells) {
    const log = searchParams.get('log');
    const isFork = process.send !== undefined && process.argv[1]?.endsWith('fork-main.js');
    if (log !== null && isFork)
      appendFileSync(
        log,
        `${JSON.stringify({ pid: process.pid, ids: cells.map(({ cell }) => cell.id), engines: options.engines })}\n`,
      );
    return { ...(await family.open(options, cells)), shared: async () => ({ engines: { arrays: 'arrays://shared' } }) };
  },
};
