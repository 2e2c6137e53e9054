#!/usr/bin/env node
import { loadFamilies } from '../families/registry.js';
import { runCli } from './cli.js';
import { loadNativeBuild, nativeResources } from '../native-build.js';

// Set, not exited with: what was printed must reach its reader first.
process.exitCode = await runCli(process.argv.slice(2), {
  loadFamilies,
  loadNativeBuild,
  resources: nativeResources,
});
