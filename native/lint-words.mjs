// Finds words in the tracked files that a reader stumbles over. CONTRIBUTING.md says how text should read.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

const ROOT = path.join(import.meta.dirname, '..');

/** The patterns, and what to write instead. */
const PATTERNS = [
  [/^\s*(?:\/\/+!?|\*|\/\*\*) Wh(?:at|o) (?!.*\?)/i, 'begin with a noun or a verb'],
  [
    /\b(?:rows|bytes|operations|calls|requests|points|queries|ns|µs|ms|processes) an? (?:second|call|row|request|operation|cell|batch)\b(?! time)/,
    'write "per"',
  ],
  [/\b(?:that|those) of\b/i, 'repeat the noun'],
  [/\bso (?:many|much|long|often)\b/i, 'name the number, or write "as long as"'],
  [/\bin the mean\b/i, 'on average'],
  [/\bin place of\b/i, 'instead of'],
  [/\bmade anew\b/i, 'regenerated'],
];

const TEXTS = /\.(?:rs|ts|mts|cts|mjs|c|md|json|yml|py|proto|toml)$/;
/** Files of data, of others, and of the past. This file has the words themselves. */
const LEFT_OUT = /^(?:results\/|CHANGELOG\.md|package-lock\.json|native\/lint-words\.mjs)/;

const files = execFileSync('git', ['ls-files'], { cwd: ROOT, encoding: 'utf8' }).split('\n');
let problems = 0;
for (const file of files.filter(
  (name) => TEXTS.test(name) && !LEFT_OUT.test(name) && existsSync(path.join(ROOT, name)),
)) {
  const lines = readFileSync(path.join(ROOT, file), 'utf8').split('\n');
  lines.forEach((line, index) => {
    for (const [pattern, advice] of PATTERNS) {
      const [found] = pattern.exec(line) ?? [];
      if (found === undefined) continue;
      problems += 1;
      console.error(`${file}:${index + 1}: "${found.trim()}": ${advice}`);
    }
  });
}
process.exitCode = problems > 0 ? 1 : 0;
