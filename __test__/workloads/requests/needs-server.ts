import { addon } from '../../../src/addon.js';
import type { ServerKind } from '../../../src/workloads/requests/target-server.js';

/**
 * Whether a test that needs a private server is to be left out, which is said: the program is not installed, and
 * `BOUNDARY_BENCH_REQUIRE` does not name its kind. Where it does, the test fails instead.
 */
export function needsServer(kind: ServerKind): boolean {
  try {
    addon.PrivateServer.find(kind as Parameters<typeof addon.PrivateServer.find>[0]);
    return false;
  } catch (error) {
    const isRequired = (process.env['BOUNDARY_BENCH_REQUIRE'] ?? '').split(',').includes(kind);
    if (!isRequired) console.log(`SKIPPED: tests on a private server of ${kind}: ${String(error)}`);
    return !isRequired;
  }
}
