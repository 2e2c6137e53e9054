#!/usr/bin/env node
// Cargo, as the build of napi-rs calls it. If the types of an addon's functions are missing, that build recompiles the addon by
// setting a variable. Cargo then compiles it once more in the next build, since the variable is gone. A build script that looks
// changed asks for the same without a trace. The variable of an addon that is not built is always set, and means nothing.
import { spawnSync } from 'node:child_process';
import { utimesSync } from 'node:fs';

/** The build scripts of the addons, by their packages. */
const BUILD_SCRIPTS = { 'boundary-bench-addon': '../build.rs', 'boundary-bench-crossing': 'crossing/build.rs' };

const { CARGO: _, ...env } = process.env;
const args = process.argv.slice(2);
for (const [name, script] of Object.entries(BUILD_SCRIPTS)) {
  const variable = `NAPI_FORCE_BUILD_${name.replaceAll('-', '_').toUpperCase()}`;
  if (args.includes(name) && env[variable] !== undefined) {
    utimesSync(new URL(script, import.meta.url), new Date(), new Date());
  }
  delete env[variable];
}
const { status, error } = spawnSync('cargo', args, { env, stdio: 'inherit' });
if (error !== undefined) console.error(`cargo can't be run: ${error.message}`);
process.exitCode = status ?? 1;
