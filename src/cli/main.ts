#!/usr/bin/env node
import { loadFamilies } from '../families/registry.js';
import { runCli } from './cli.js';
import { loadNativeBuild, nativeResources } from '../native-build.js';

/**
 * The milliseconds after which open handles no longer keep the program alive, such as a connection that a module of the
 * user's keeps.
 */
const GRACE_MS = 1000;

// Sets the code instead of exiting, so that all output is flushed first.
process.exitCode = await runCli(process.argv.slice(2), {
  loadFamilies,
  loadNativeBuild,
  resources: nativeResources,
});
process.stdout.write('', () => {
  setTimeout(() => process.exit(), GRACE_MS).unref();
});
