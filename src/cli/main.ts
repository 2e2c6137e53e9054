#!/usr/bin/env node
import { loadFamilies } from '../families/registry.js';
import { runCli } from './cli.js';
import { loadNativeBuild, nativeResources } from '../native-build.js';

// Sets the code instead of exiting, so that all output is flushed first.
process.exitCode = await runCli(process.argv.slice(2), {
  loadFamilies,
  loadNativeBuild,
  resources: nativeResources,
});
