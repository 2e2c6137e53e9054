import { type ServerKind, targetSkip } from '../../../src/workloads/requests/target-server.js';

/**
 * Whether a test that needs a private server is to be left out, which is said: the program is not installed, and
 * `BOUNDARY_BENCH_REQUIRE` does not name its kind. Where it does, the test fails instead.
 */
export function needsServer(kind: ServerKind): boolean {
  // By name alone, so that no variable makes the user's server the one that is tested.
  const reason = targetSkip(kind, { [kind]: `${kind}:` });
  if (reason === undefined) return false;
  const isRequired = (process.env['BOUNDARY_BENCH_REQUIRE'] ?? '').split(',').includes(kind);
  if (!isRequired) console.log(`SKIPPED: tests on a private server of ${kind}: ${reason}`);
  return !isRequired;
}
