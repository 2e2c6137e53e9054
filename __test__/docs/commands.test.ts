/** Each command of the pages, and of the examples in the help, must be one that the tools take; the cheap ones are run. */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

import type { Command } from 'commander';
import { beforeAll, describe, expect, it, test } from 'vitest';

import { commandOf, programOf } from '../../src/cli/cli.js';
import { type Flags, requestFrom } from '../../src/cli/matrix-options.js';
import { wordsOf as rowsAndFiles } from '../../src/cli/own-files.js';
import { loadFamilies } from '../../src/families/registry.js';
import { serverProgram } from '../../src/families/requests/target-server.js';
import type { Run } from '../../src/records/record.js';
import { readRun, serializeRun } from '../../src/records/run-file.js';
import { planRun } from '../../src/runner/plan.js';
import { builtMain, spawnCli } from '../cli/spawn-cli.js';
import { MANIFEST, PACKAGE } from '../package/installed.js';
import { around, completed, runOf } from '../records/sample-run.js';
import { folderOfSuite, writeFiles } from '../temporary-folder.js';
import { blocks, commandsOf, inlineCommands, wordsOf } from './pages.js';

const families = await loadFamilies();

/** The commands of the command line that need no more than a run. */
const CHEAP = new Set(['list', 'report', 'compare', 'history', 'check', 'predict', 'host']);

/** Programs of a shell that the pages use in addition to ours. */
const OTHERS = new Set(['cd', 'cp', 'git']);

/** The scripts that npm has without an entry of their own. */
const NPM = new Set(['ci', 'install', 'pack']);

const told = blocks()
  .filter(({ language }) => ['sh', 'bash', 'console'].includes(language))
  .flatMap(({ page, text }) => commandsOf(text).map((words) => ({ page, words, line: words.join(' ') })));

/** The command line's own words of a command; `undefined` if it is another program. */
function ownWords([program, first, ...rest]: readonly string[]): readonly string[] | undefined {
  if (program === 'npx' && first === 'boundary-bench') return rest;
  if (program === 'boundary-bench') return first === undefined ? [] : [first, ...rest];
  if (program === 'node' && first === 'bench/benchmark.mjs') return ['run', ...rest];
  return undefined;
}

/** The commands of the command line, none of which does anything; `seen` gets the arguments and options of the one that is named. */
function parserOf(seen: (name: string, args: readonly unknown[]) => void): Command {
  const program = programOf({ loadFamilies: async () => families, loadNativeBuild: async () => undefined }, () => {});
  const silence = (command: Command): void => {
    command.configureOutput({ writeErr: () => {} });
    if (command.commands.length === 0) command.action((...args: unknown[]) => seen(command.name(), args));
    for (const inner of command.commands) silence(inner);
  };
  silence(program);
  return program;
}

/** Whether a word is a file with workloads of the reader's. */
function isOwnFile(word: string): boolean {
  return word.endsWith('.bench.mjs');
}

/** The refusal of these words by the command line, or an empty text. Nothing is measured. */
async function refusalOf(words: readonly string[]): Promise<string> {
  // Without words it takes the quick look.
  const whole = words.length === 0 ? ['run', '--quick'] : commandOf(words);
  if (whole[0] === 'serve') return serverRefusalOf(whole.slice(1));
  try {
    const plan = (name: string, [given, flags]: readonly unknown[]): void => {
      const words = given as readonly string[];
      // Files of the reader's own are not here.
      if ((name !== 'run' && name !== 'list') || words.some(isOwnFile)) return;
      planRun(families, requestFrom(rowsAndFiles(words).rows, flags as Flags, {}));
    };
    await parserOf(plan).parseAsync(whole, { from: 'user' });
    return '';
  } catch (error) {
    return String(error);
  }
}

/** The program of the servers parses its own options, up to `--help`. */
function serverRefusalOf(words: readonly string[]): string {
  return spawnSync(serverProgram('rest'), [...words, '--help'], { encoding: 'utf8' }).stderr;
}

/** The problem with a command of a page: the command line refuses it, or a script or a file does not exist. */
async function problemOf(words: readonly string[]): Promise<string> {
  const own = ownWords(words);
  if (own !== undefined) return refusalOf(own);
  const [program = '', first = '', second = ''] = words;
  const isThere = {
    npm: () => NPM.has(first) || Object.hasOwn(MANIFEST.scripts, first === 'run' ? second : first),
    node: () => existsSync(join(PACKAGE, first)),
  };
  const looked = Object.hasOwn(isThere, program) ? isThere[program as keyof typeof isThere]() : OTHERS.has(program);
  return looked ? '' : `there is no ${words.join(' ')}`;
}

/** The same of a command in a sentence, which may be its name alone. */
async function problemOfMention(text: string): Promise<string> {
  const words = wordsOf(text);
  const [name = '', ...rest] = ownWords(words) ?? [];
  if (name === '' || name.startsWith('-') || rest.length > 0) return problemOf(words);
  const { commands } = parserOf(() => {});
  return commands.some((command) => command.name() === name) ? '' : `there is no command ${name}`;
}

test('the pages are read', () => {
  expect(told.length).toBeGreaterThan(50);
  expect(inlineCommands().length).toBeGreaterThan(15);
  expect(wordsOf("a --b 'c d*',e # it's said")).toEqual(['a', '--b', 'c d*,e']);
  expect(commandsOf('a b && c # d\n# e\n')).toEqual([['a', 'b'], ['c']]);
  expect(commandsOf('a \\\n  b\n')).toEqual([['a', 'b']]);
});

it.each([
  [['list', '--al'], 'unknown option'],
  [['run', '--engine', 'embeded'], 'did you mean embedded?'],
  [['run', '--connections', '8'], 'of which none is measured here'],
  [['predict', '--byte', '64K'], 'unknown option'],
  [['serve', 'flight', '--databse', 'x'], 'there is no --databse'],
  [['sreve'], 'unknown command'],
])('a command that makes no sense is found: %j', async (words, message) => {
  expect(await refusalOf(words)).toContain(message);
});

it.each(told)('$page: $line', async ({ words }) => {
  expect(await problemOf(words)).toBe('');
});

it.each(inlineCommands())('in a sentence of $page: $text', async ({ text }) => {
  expect(await problemOfMention(text)).toBe('');
});

describe('each example of the help', () => {
  const { commands } = parserOf(() => {});
  const lines = commands.flatMap((command) => {
    let help = '';
    command.configureOutput({ writeOut: (text) => (help += text), getOutHelpWidth: () => 300 }).outputHelp();
    return [...help.matchAll(/^ {2}npx boundary-bench (.*?)(?: {2,}.*)?$/gm)].map(([, line = '']) => line);
  });

  it.each(lines)('boundary-bench %s', async (line) => {
    // Another program may take what ours prints.
    expect(await refusalOf(wordsOf(line.replace(/ \|.*/, '')))).toBe('');
  });

  it('are some', () => {
    expect(lines.length).toBeGreaterThan(15);
  });
});

describe('each cheap command', () => {
  const cwd = folderOfSuite();

  beforeAll(async () => {
    const whole = runOf([
      completed({ side: 'rust', lane: 'row', variant: 'RowWriter' }, around(0.9)),
      completed({ side: 'napi', lane: 'row', variant: 'rows' }, around(1)),
    ]);
    const sized = [4, 1024].map((size) => ({
      ...completed({ family: 'levenshtein', side: 'js', lane: 'js', variant: 'js' }, around(size)),
      id: `levenshtein/${size}/js`,
      size,
    }));
    const { model } = await newestModel();
    const budgets = { schemaVersion: 1, budgets: [{ name: 'rows', cell: whole.records[0]!.id, maximumSeconds: 1 }] };
    // The files that the pages name.
    const files: Readonly<Record<string, string>> = {
      'before.json': serializeRun(whole),
      'after.json': serializeRun(whole),
      'before/run.json': serializeRun(whole),
      'after/run.json': serializeRun(whole),
      'run.json': serializeRun(whole),
      'b.json': JSON.stringify(budgets),
      'results/runs/yesterday/run.json': serializeRun(whole),
      'results/runs/today/run.json': serializeRun(whole),
      'results/runs/levenshtein/run.json': serializeRun(runOf(sized)),
      'results/runs/model/run.json': serializeRun({ ...whole, ...(model !== undefined && { model }) }),
    };
    writeFiles(cwd, files);
  });

  const cheap = told.flatMap(({ page, words, line }) => {
    const own = ownWords(words);
    return own !== undefined && CHEAP.has(own[0] ?? '') && !own.some(isOwnFile) ? [{ page, line, own }] : [];
  });

  it.each(cheap)('$page: $line', async ({ own }) => {
    // A browser is the reader's.
    const words = own.filter((word) => word !== '--open');
    const { exitCode, stderr, stdout } = await spawnCli(words, { cwd, script: builtMain });
    expect([exitCode, stderr]).toEqual([0, '']);
    expect(stdout).not.toBe('');
  });

  it('are the cheap commands of the command line', () => {
    expect(new Set(cheap.map(({ own }) => own[0]))).toEqual(CHEAP);
  });
});

/** The newest committed run with a cost model. */
async function newestModel(): Promise<Run> {
  const folder = join(PACKAGE, 'results/linux-x64');
  const names = readdirSync(folder).filter((name) => name.endsWith('-model.json'));
  return readRun(join(folder, names.toSorted().at(-1)!));
}
