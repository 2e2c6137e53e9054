/** The commands of the pages, and their examples of code. */
import { readFileSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';

import { PACKAGE } from '../package/installed.js';

/** The reference of the API. Its blocks of TypeScript are declarations, and its blocks of JavaScript are examples. */
export const API = 'api.md';

const DOCS = readdirSync(join(PACKAGE, 'docs'), { encoding: 'utf8', recursive: true }).filter(
  (name) => name.endsWith('.md') && name !== API,
);

const PAGES = ['README.md', 'CONTRIBUTING.md', ...DOCS.map((name) => join('docs', name))];

export interface Block {
  readonly page: string;
  readonly language: string;
  readonly text: string;
}

/** The fenced blocks of all pages but the reference of the API. */
export function blocks(): Block[] {
  return PAGES.flatMap(blocksOf);
}

/** The examples of the reference of the API. */
export function examplesOfApi(): Block[] {
  return blocksOf(join('docs', API)).filter(({ language }) => language === 'js');
}

function blocksOf(page: string): Block[] {
  return [...readFileSync(join(PACKAGE, page), 'utf8').matchAll(/^ *```(\w*)\n([^]*?)^ *```$/gm)].map(
    ([, language = '', text = '']) => ({ page: basename(page), language, text }),
  );
}

/** The commands between backticks in sentences, as they stand there. */
export function inlineCommands(): { readonly page: string; readonly text: string }[] {
  return PAGES.flatMap((page) => {
    const prose = readFileSync(join(PACKAGE, page), 'utf8').replaceAll(/^ *```[^]*?^ *```$/gm, '');
    return [...prose.matchAll(/`((?:npx boundary-bench|boundary-bench|node|npm) [^`]+)`/g)].map(([, text = '']) => ({
      page: basename(page),
      text: text.replaceAll(/\s+/g, ' '),
    }));
  });
}

/** The commands of a block for a shell, each as its words: without comments, parted at `&&`, with lines that go on joined. */
export function commandsOf(text: string): string[][] {
  return text
    .replaceAll('\\\n', ' ')
    .split('\n')
    .flatMap((line) => {
      const words = wordsOf(line);
      const commands: string[][] = [[]];
      for (const word of words) {
        if (word === '&&') commands.push([]);
        else commands.at(-1)!.push(word);
      }
      return commands.filter((command) => command.length > 0);
    });
}

/** The words of a line as a shell takes them. */
export function wordsOf(line: string): string[] {
  const words = [...line.matchAll(/(#.*)|((?:'[^']*'|[^\s'#])(?:'[^']*'|[^\s'])*)/g)];
  const comment = words.findIndex(([, isComment]) => isComment !== undefined);
  const before = comment === -1 ? words : words.slice(0, comment);
  return before.map(([, , word = '']) => word.replaceAll("'", ''));
}
