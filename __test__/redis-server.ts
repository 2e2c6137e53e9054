import { addon } from '../src/addon.js';

type Kind = Parameters<typeof addon.PrivateServer.start>[0];

const KIND = 'redis' as Kind;

/** Why tests that need a Redis or Valkey server can't run here; they fail instead where BOUNDARY_BENCH_REQUIRE names `redis`. */
export const withoutRedis: string | undefined = whyMissing();

function whyMissing(): string | undefined {
  try {
    addon.PrivateServer.find(KIND);
    return undefined;
  } catch (thrown) {
    const reason = (thrown as Error).message;
    if ((process.env['BOUNDARY_BENCH_REQUIRE'] ?? '').split(',').includes('redis')) throw thrown;
    process.stdout.write(`SKIPPED: tests of the Redis wire: ${reason}\n`);
    return reason;
  }
}

/** A server of its own for one test file. */
export function startRedis(): Promise<InstanceType<typeof addon.PrivateServer>> {
  return addon.PrivateServer.start(KIND);
}
