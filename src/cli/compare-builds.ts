/** `compare --builds`: two builds of an addon, measured in turns in one run. */
import { existsSync, realpathSync } from 'node:fs';

import { BoundaryError } from '../errors.js';
import { ofBuilds } from '../families/own/builds.js';
import { buildComparisons, renderBuilds, renderBuildsMarkdown } from '../report/builds-report.js';
import { EXIT_FAILED, EXIT_OK } from './exit-code.js';
import { measure } from './measure.js';
import { loadOwn, wordsOf } from './own-files.js';
import { print } from './print.js';
import { writeReport } from './report-files.js';
import type { CliServices, Finish } from './services.js';
import { terminalWidth } from './terminal-width.js';

/** How two builds are compared. */
export interface CompareBuildsOptions {
  readonly threshold: number;
  readonly decideWithin: number;
  readonly json?: boolean;
  /** The file for the table as Markdown. */
  readonly markdown?: string;
  /** The real paths of further files instead of which the builds are loaded. */
  readonly replaces?: readonly string[];
}

/** Measures the workloads of files by two builds, and prints how they differ. The exit code is 1 if the new one is slower. */
export async function compareBuilds(
  builds: readonly [before: string, after: string],
  files: readonly string[],
  { threshold, decideWithin, json = false, markdown, replaces }: CompareBuildsOptions,
  services: CliServices,
  finish: Finish,
): Promise<void> {
  const missing = builds.find((file) => !existsSync(file));
  if (missing !== undefined) {
    throw new BoundaryError('BB_USAGE', `there is no build ${missing}`, {
      hint: 'Name the two .node files, the old one first.',
    });
  }
  if (files.length === 0) {
    throw new BoundaryError('BB_USAGE', 'no file with a workload for the builds is named', {
      hint: 'boundary-bench compare --builds OLD.node NEW.node levenshtein.bench.mjs',
    });
  }
  const [before, after] = builds.map((file) => realpathSync(file)) as [string, string];
  const families = (await loadOwn(wordsOf(files).files)).map((family) => ofBuilds(family, [before, after], replaces));
  const { result, exitCode } = await measure({ families, decideSeconds: decideWithin }, services);
  const pairs = buildComparisons(result.run, threshold);
  if (markdown !== undefined) await writeReport(markdown, renderBuildsMarkdown(result.run, threshold));
  print(json, pairs, () => renderBuilds(result.run, threshold, terminalWidth(process.stdout)));
  const isWrong =
    pairs.some(({ regressed }) => regressed) || result.run.records.some(({ outcome }) => outcome === 'failed');
  finish(exitCode ?? (isWrong ? EXIT_FAILED : EXIT_OK));
}
