// The walks of new users: each follows pages word by word, with the packed package, in an empty folder.
import { copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const root = path.join(import.meta.dirname, '../..');

/** The functions that the page's file of Levenshtein leaves to its reader. They are in JavaScript: there is no Rust here. */
const LEVENSHTEIN = `
const levenshtein = ([a, b]) => {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    row = row.reduce((next, above, j) => {
      if (j === 0) return [i];
      return [...next, Math.min(above + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1))];
    }, []);
  }
  return row.at(-1);
};
const pairsOf = (size) => Array.from({ length: 4 }, (_, index) => ['a'.repeat(size / 4) + index, 'ab'.repeat(size / 8)]);
const addon = { levenshtein, levenshteinMany: (pairs) => pairs.map((pair) => levenshtein(pair)) };
`;

/** A file that measures an addon, as its author has it. */
const OF_AN_ADDON = `
import { createRequire } from 'node:module';
import { workload } from 'boundary-bench/bench';
const addon = createRequire(import.meta.url)('./addon.node');
export default workload('numbers', { ways: { js: () => true, napi: () => addon.codec.rowMatches(30, true) } });
`;

const EXAMPLES = path.join(root, 'examples');

/**
 * The walks. Each stage has a folder of its own with what its reader has already: files, packages of npm, and code before the page's own.
 * It takes the commands and files of sections of pages, and its last command prints the answer.
 */
export const WALKS = [
  {
    who: 'an author of an addon',
    stages: [
      { installs: true, sections: [['README.md', 'Boundary Bench']], answer: /^- base64: .*(×|shown)/m },
      {
        sections: [
          ['docs/own.md', 'In five minutes'],
          ['docs/own.md', 'The answer'],
        ],
        before: { 'levenshtein.bench.mjs': LEVENSHTEIN },
        without: /^ {4}rust: program/,
        answer: /^levenshtein, size 300$/m,
      },
      {
        sections: [['docs/builds.md', 'Two builds']],
        addons: ['addon.node', 'old.node', 'new.node'],
        files: { 'levenshtein.bench.mjs': OF_AN_ADDON },
        only: /^npx boundary-bench compare --builds/,
        answer: /ways? (slower|are inconclusive)|Could not tell/,
      },
    ],
  },
  {
    who: 'an engineer who asks whether a hot path belongs in Rust',
    stages: [
      { sections: [['docs/decide.md', '2. What does the crossing cost?']], answer: /^.*napi.*\d (ns|µs|ms)/m },
      { sections: [['docs/decide.md', '3. Is Rust faster for my input?']], answer: /^- base64: .*(×|shown)/m },
      { sections: [['docs/decide.md', '4. Is it a query?']], answer: /^- query\b.*×/m },
    ],
  },
  {
    who: "a driver's maintainer",
    stages: [
      {
        sections: [['docs/own.md', 'A driver of your own']],
        only: /--family kv/,
        need: 'redis',
        packages: ['ioredis'],
        copies: { 'my-client.mjs': 'kv-client.mjs' },
        answer: /^- get, .*: my-client(?: \S+)?: .*×/m,
      },
    ],
  },
];

/** The commands in the blocks of a shell of a section of a page. */
export function commandsOf(page, heading) {
  return blocksOf(page, heading)
    .filter(({ language }) => language === 'sh')
    .flatMap(({ code }) => code.trim().split('\n'))
    .map((line) => line.replace(/ +#.*$/, ''));
}

/** The code blocks of a section of a page, up to the next heading: their languages and texts. */
function blocksOf(page, heading) {
  const lines = readFileSync(path.join(root, page), 'utf8').split('\n');
  const start = lines.findIndex((line) => /^#+ /.test(line) && line.replace(/^#+ /, '') === heading);
  if (start < 0) throw new Error(`${page} has no section "${heading}"`);
  const after = lines.slice(start + 1);
  const end = after.findIndex((line) => /^#+ /.test(line) && !isInBlock(after, line));
  const text = after.slice(0, end < 0 ? undefined : end).join('\n');
  return [...text.matchAll(/^```(\w+)\n([^]*?)^```$/gm)].map(([, language, code]) => ({ language, code }));
}

/** Whether a line that looks like a heading is a comment within a block of code. */
function isInBlock(lines, line) {
  return lines.slice(0, lines.indexOf(line)).filter((each) => each.startsWith('```')).length % 2 === 1;
}

/**
 * Follows a stage in a folder. `command` runs a line of a shell there, and returns what it prints to standard output. Returns the last
 * output. Throws if the answer is not in it.
 */
export function follow({ sections, before = {}, without, only, files = {}, copies = {}, answer }, folder, command) {
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(folder, name), text);
  for (const [name, example] of Object.entries(copies)) {
    copyFileSync(path.join(EXAMPLES, example), path.join(folder, name));
  }
  for (const { code } of sections.flatMap(([page, heading]) => blocksOf(page, heading))) {
    const [, name] = /^\/\/ (\S+\.mjs)\n/.exec(code) ?? [];
    if (name !== undefined) {
      const kept = code.split('\n').filter((line) => without?.test(line) !== true);
      writeFileSync(path.join(folder, name), (before[name] ?? '') + kept.join('\n'));
    }
  }
  const commands = sections
    .flatMap(([page, heading]) => commandsOf(page, heading))
    // The packed package is installed already.
    .filter((line) => line !== 'npm install --save-dev boundary-bench' && (only?.test(line) ?? true));
  if (commands.length === 0) throw new Error(`${sections.join(' ')}: no commands`);
  let said = '';
  for (const line of commands) said = command(line);
  if (!answer.test(said)) throw new Error(`the last command does not print the answer ${answer}:\n${said}`);
  return said;
}

/** Makes the folder of a stage below a project in which the package is installed. */
export function folderOf(project, name, { packages = [], addons = [] }, addon) {
  const folder = path.join(project, 'walks', name);
  mkdirSync(path.join(folder, 'node_modules'), { recursive: true });
  for (const each of packages) {
    const link = path.join(folder, 'node_modules', each);
    mkdirSync(path.dirname(link), { recursive: true });
    symlinkSync(path.join(root, 'node_modules', each), link, 'junction');
  }
  for (const each of addons) copyFileSync(addon, path.join(folder, each));
  return folder;
}
