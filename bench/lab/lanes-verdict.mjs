/** The verdicts of bench/lab/lanes.mjs, and the size of a checkout. */
import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

import { RISK } from '../../dist/stats/resampling.js';
import { priorVariance } from '../../dist/stats/prior-variance.js';
import { ratioInTurns, varianceBetween } from '../../dist/stats/ratio-in-turns.js';

/** A rate below this part of the old one, and surely below the old one, is slower. */
const SLOWER = 0.97;
/** An interval that is wider decides nothing, unless all of it is above `SLOWER`. */
const WIDEST = 0.06;

export const isUndecided = ({ low, high }) => low <= SLOWER && high - low > WIDEST;

/** The verdict of the interval of a ratio of rates. */
export function verdictOf({ ratio, low, high }) {
  if (high < 1 && ratio < SLOWER) return 'slower';
  if (isUndecided({ low, high })) return 'undecided';
  if (low > 1) return 'faster';
  return high - low > WIDEST ? 'not slower' : 'same';
}

/**
 * The ratios of several lanes with their intervals. `lanes` has for each lane a list for each round, with the ratios of its blocks. All
 * intervals together miss a truth as seldom as one of 95%. How rounds differ is known better by all lanes than by one.
 */
export function intervalsOf(lanes) {
  const prior = priorVariance(lanes.map(varianceBetween));
  return lanes.map((rounds) => ratioInTurns(rounds, { risk: RISK / lanes.length, prior }));
}

const SOURCES = /\.(rs|[cm]?[jt]s|tsx|c|py|sh)$/;
const GENERATED = /^(index\.d\.ts|index\.cjs|crossing\.d\.ts)$/;

/** The size of a checkout: its source lines and their files, if git can list them, the crates, and the bytes of each addon in its root. */
export function sizeOf(root) {
  const [, members] = /members = \[([^\]]*)\]/.exec(readFileSync(join(root, 'Cargo.toml'), 'utf8'));
  const addons = readdirSync(root).filter((file) => file.endsWith('.node'));
  const bytes = addons.map((file) => [`bytes of ${file}`, statSync(join(root, file)).size]);
  return { ...sourcesOf(root), crates: members.match(/"/g).length / 2, ...Object.fromEntries(bytes) };
}

function sourcesOf(root) {
  const { status, stdout } = spawnSync('git', ['-C', root, 'ls-files'], { encoding: 'utf8' });
  if (status !== 0) return {};
  const files = stdout.split('\n').filter((file) => SOURCES.test(file) && !GENERATED.test(file));
  const linesOf = (file) => readFileSync(join(root, file), 'utf8').replace(/\n$/, '').split('\n').length;
  return { lines: files.reduce((sum, file) => sum + linesOf(file), 0), files: files.length };
}
