/** `compare --builds`: two builds of an addon, measured in turns in one run. */
import { existsSync, realpathSync } from 'node:fs';

import { BoundaryError } from '../errors.js';
import { ofBuilds } from '../families/own/builds.js';
import type { AddonBuild } from '../families/workload.js';
import { addonFiles, isForeign } from '../host/loaded-addons.js';
import { buildComparisons, renderBuilds, renderBuildsMarkdown } from '../report/builds-report.js';
import { severalAddons } from '../runner/swap-build.js';
import { EXIT_FAILED, EXIT_OK } from './exit-code.js';
import { measure } from './measure.js';
import { loadOwn, wordsOf } from './own-files.js';
import { print, terminalOf } from './terminal.js';
import { writeReport } from './report-files.js';
import type { CliServices, Finish } from './services.js';

/** How two builds are compared. */
export interface CompareBuildsOptions {
  readonly threshold: number;
  readonly decideWithin: number;
  readonly json?: boolean;
  /** The file for the table as Markdown. */
  readonly markdown?: string;
  /** Whether inconclusive ways fail the comparison. */
  readonly strict?: boolean;
  /** The addon that the builds replace. Absent: one of the builds, or the only addon that the files load. */
  readonly addon?: string;
  /** The real paths of further files that the builds replace. */
  readonly replaces?: readonly string[];
}

/**
 * Measures the workloads of files by two builds, and prints how they differ. The exit code is 1 if the new one is
 * slower, and if no way of the addon was measured.
 */
export async function compareBuilds(
  builds: readonly [before: string, after: string],
  files: readonly string[],
  { threshold, decideWithin, json = false, markdown, strict = false, addon, replaces = [] }: CompareBuildsOptions,
  services: CliServices,
  finish: Finish,
): Promise<void> {
  const missing = [...builds, ...(addon === undefined ? [] : [addon])].find((file) => !existsSync(file));
  if (missing !== undefined) {
    throw new BoundaryError('BB_USAGE', `there is no ${missing === addon ? 'addon' : 'build'} ${missing}`, {
      hint: 'Name the two .node files, the old one first.',
    });
  }
  if (files.length === 0) {
    throw new BoundaryError('BB_USAGE', 'no file with a workload for the builds is named', {
      hint: 'npx boundary-bench compare --builds OLD.node NEW.node levenshtein.bench.mjs',
    });
  }
  const [before, after] = builds.map((file) => realpathSync(file)) as [string, string];
  const own = await loadOwn(wordsOf(files).files);
  const place = placeOf([before, after, ...replaces], addon);
  const families = own.map((family) => ofBuilds(family, [before, after], place));
  const { result, exitCode } = await measure({ families, decideSeconds: decideWithin }, services);
  const pairs = buildComparisons(result.run, threshold);
  if (markdown !== undefined) await writeReport(markdown, renderBuildsMarkdown(result.run, threshold));
  print(json, pairs, () => renderBuilds(result.run, threshold, terminalOf(process.stdout)));
  const ways = pairs.filter(({ isControl }) => !isControl);
  const isWrong =
    ways.length === 0 ||
    ways.some(({ regressed, undecided }) => regressed || (strict && undecided)) ||
    result.run.records.some(({ outcome }) => outcome === 'failed');
  finish(exitCode ?? (isWrong ? EXIT_FAILED : EXIT_OK));
}

/**
 * The place of the addon that the builds replace. If the files have loaded none of the replaced addons, it is the only
 * addon that they load. Throws `BB_USAGE` if they have loaded several.
 */
function placeOf(replaces: readonly string[], addon: string | undefined): Omit<AddonBuild, 'file'> {
  if (addon !== undefined) return { replaces: [...replaces, realpathSync(addon)], isOnly: false };
  const loaded = addonFiles()
    .filter(isForeign)
    .map((file) => realpathSync(file));
  if (loaded.some((file) => replaces.includes(file))) return { replaces, isOnly: false };
  if (loaded.length > 1) throw severalAddons(loaded);
  // A way may load its addon when it is first called.
  return { replaces: [...replaces, ...loaded], isOnly: loaded.length === 0 };
}
