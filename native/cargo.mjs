#!/usr/bin/env node
// Cargo, as the build of napi-rs calls it. If the types of the addon's functions are missing, that build recompiles the addon by
// setting a variable. Cargo then compiles it once more in the next build, since the variable is gone. A build script that looks
// changed asks for the same without a trace.
import { spawnSync } from 'node:child_process';
import { utimesSync } from 'node:fs';

const { CARGO: _, ...env } = process.env;
for (const name of Object.keys(env).filter((key) => key.startsWith('NAPI_FORCE_BUILD_'))) {
  delete env[name];
  utimesSync(new URL('../build.rs', import.meta.url), new Date(), new Date());
}
const { status, error } = spawnSync('cargo', process.argv.slice(2), { env, stdio: 'inherit' });
if (error !== undefined) console.error(`cargo can't be run: ${error.message}`);
process.exitCode = status ?? 1;
