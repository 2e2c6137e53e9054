/**
 * The built command line over the family of sums, in a process of its own. The environment variable `BROKEN` holds the
 * faults by cell, as JSON.
 */
import { runCli } from '../../dist/cli/cli.js';
import { sumFamily } from '../runner/sum-family.mjs';

process.exitCode = await runCli(process.argv.slice(2), {
  loadFamilies: async () => [sumFamily({ broken: JSON.parse(process.env['BROKEN'] ?? '{}') })],
  loadNativeBuild: async () => undefined,
});
