/** The blocks of a report, and their rendering as Markdown that pastes into a page, or as text for a terminal. */
import { stripVTControlCharacters, styleText } from 'node:util';

/** The meaning of a cell, for terminals with colors. */
export type Tone = 'good' | 'bad' | 'open' | 'best';

const STYLES = { good: 'green', bad: 'red', open: 'yellow', best: 'bold' } as const;

export interface Column {
  readonly title: string;
  readonly align?: 'left' | 'right';
  readonly tone?: ((cell: string) => Tone | undefined) | undefined;
  /** Of a table that is too wide for a terminal, columns go in the order of these numbers. Absent: the column stays if it can. */
  readonly goes?: number | undefined;
}

/** A table, whose rows have one cell per column. */
export interface Table {
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly string[])[];
}

export type Block =
  | { readonly kind: 'heading'; readonly level: number; readonly text: string }
  | { readonly kind: 'paragraph'; readonly text: string }
  | { readonly kind: 'list'; readonly items: readonly string[] }
  | { readonly kind: 'table'; readonly table: Table };

export const heading = (level: number, text: string): Block => ({ kind: 'heading', level, text });
export const paragraph = (text: string): Block => ({ kind: 'paragraph', text });

/** A list block. None if there are no items. */
export const list = (items: readonly string[]): Block[] => (items.length === 0 ? [] : [{ kind: 'list', items }]);

/** A table block. None if there are no rows. */
export const tableBlock = (table: Table): Block[] => (table.rows.length === 0 ? [] : [{ kind: 'table', table }]);

/** Blocks with the block that introduces them. None if there are none. */
export const under = (head: Block, blocks: readonly Block[]): Block[] => (blocks.length === 0 ? [] : [head, ...blocks]);

/** Makes columns of titles. A leading `>` marks a column of numbers. It is aligned right. */
export function columns(...titles: readonly string[]): Column[] {
  return titles.map((title) =>
    title.startsWith('>') ? { title: title.slice(1), align: 'right' } : { title, align: 'left' },
  );
}

/** A column with what it says of an item. As in `columns`, a leading `>` of the title marks a column of numbers. */
export interface ColumnOf<Item> extends Pick<Column, 'title' | 'goes' | 'tone'> {
  of(item: Item): string;
}

/** A table with a row for each item. */
export function tableOf<Item>(items: readonly Item[], all: readonly ColumnOf<NoInfer<Item>>[]): Table {
  return {
    columns: all.map(({ title, goes, tone }) => ({ ...columns(title)[0]!, goes, tone })),
    rows: items.map((item) => all.map((column) => column.of(item))),
  };
}

export function renderMarkdown(blocks: readonly Block[]): string {
  return `${blocks.map(markdownBlock).join('\n\n')}\n`;
}

/** A terminal that a report is printed to. */
export interface Terminal {
  /** Default: as wide as the texts are. */
  readonly columns?: number | undefined;
  /** Whether it shows colors. */
  readonly hasColors?: boolean | undefined;
}

/** Renders for a terminal. Tables that are wider leave out columns, and break names. Texts are wrapped. */
export function renderTerminal(
  blocks: readonly Block[],
  { columns = Infinity, hasColors = false }: Terminal = {},
): string {
  return `${blocks.map((block) => terminalBlock(block, columns, hasColors)).join('\n\n')}\n`;
}

function markdownBlock(block: Block): string {
  switch (block.kind) {
    case 'heading':
      return `${'#'.repeat(block.level)} ${markdownText(block.text)}`;
    case 'paragraph':
      return markdownText(block.text);
    case 'list':
      return block.items.map((item) => `- ${markdownText(item)}`).join('\n');
    case 'table':
      return markdownTable(block.table);
  }
}

function terminalBlock(block: Block, most: number, hasColors: boolean): string {
  switch (block.kind) {
    case 'heading': {
      const text = plainText(block.text);
      return block.level <= 2 ? `${text}\n${(block.level === 1 ? '=' : '-').repeat(width(text))}` : text;
    }
    case 'paragraph':
      return wrapped(plainText(block.text), most);
    case 'list':
      return block.items.map((item) => `- ${wrapped(plainText(item), most - 2).replaceAll('\n', '\n  ')}`).join('\n');
    case 'table':
      return terminalTable(block.table, most, hasColors);
  }
}

/** The text with its words on as many lines as it needs. A longer word keeps its line. */
export function wrapped(text: string, most: number): string {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (line !== '' && width(longer) > most) {
      lines.push(line);
      line = word;
    } else {
      line = longer;
    }
  }
  return [...lines, line].join('\n');
}

function markdownTable({ columns: titles, rows }: Table): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [
    line(titles.map(({ title }) => markdownText(title))),
    line(titles.map(({ align }) => (align === 'right' ? '---:' : '---'))),
    ...rows.map((row) => line(row.map(markdownText))),
  ].join('\n');
}

/** The space between two columns. */
const GAP = 2;

/** The fewest characters of a line of a name. */
const SHORTEST_NAME = 12;

/** A column of a table for a terminal, with its cells below its title. */
interface Strip extends Column {
  readonly cells: readonly string[];
  readonly width: number;
}

function terminalTable({ columns: titles, rows }: Table, most: number, hasColors: boolean): string {
  const whole = titles.map((column, index): Strip => {
    const cells = [column.title, ...rows.map((row) => plainText(row[index] ?? ''))];
    return { ...column, cells, width: Math.max(...cells.map(width)) };
  });
  const strips = fitted(whole, most);
  const lines = whole[0]!.cells.map((_, row) => {
    const broken = strips.map((strip) => wrapped(breakable(strip.cells[row]!, strip.width), strip.width).split('\n'));
    return Array.from({ length: Math.max(...broken.map(({ length }) => length)) }, (_, line) =>
      strips
        .map((strip, index) => {
          const text = pad(cut(broken[index]![line] ?? '', strip.width), strip.width, strip.align);
          const tone = hasColors && row > 0 ? strip.tone?.(strip.cells[row]!) : undefined;
          // The stream that the text is for was asked whether it has colors.
          return tone === undefined ? text : styleText(STYLES[tone], text, { validateStream: false });
        })
        .join(' '.repeat(GAP))
        .trimEnd(),
    ).join('\n');
  });
  const rule = strips.map((strip) => '─'.repeat(strip.width)).join(' '.repeat(GAP));
  const left = whole.filter(({ title }) => strips.every((strip) => strip.title !== title)).map(({ title }) => title);
  const note = left.length === 0 ? [] : [wrapped(`(too narrow for: ${left.join(', ')})`, most)];
  return [lines[0], rule, ...lines.slice(1), ...note].join('\n');
}

/** The order from which on columns go after names were broken. */
export const AFTER_NAMES = 100;

/** The strips that fit: first those go that may, then names are broken, at last the rightmost go, but never the first. */
function fitted(strips: readonly Strip[], most: number): readonly Strip[] {
  const excess = strips.reduce((sum, strip) => sum + strip.width, GAP * (strips.length - 1)) - most;
  if (excess <= 0) return strips;
  const going = strips.filter(({ goes }) => goes !== undefined).toSorted((a, b) => a.goes! - b.goes!)[0];
  const without = (gone: Strip): readonly Strip[] =>
    fitted(
      strips.filter((strip) => strip !== gone),
      most,
    );
  if (going !== undefined && going.goes! < AFTER_NAMES) return without(going);
  const names = strips.filter((strip) => strip.align !== 'right' && strip.width > SHORTEST_NAME);
  const widest = names.toSorted((a, b) => b.width - a.width)[0];
  if (widest !== undefined) {
    // Down to the next one, so that several long ones are cut alike.
    const next = Math.max(
      SHORTEST_NAME,
      ...names.filter(({ width }) => width < widest.width).map(({ width }) => width),
    );
    const narrower = Math.max(next, widest.width - excess);
    return fitted(
      strips.map((strip) => (strip === widest ? { ...strip, width: Math.min(narrower, strip.width - 1) } : strip)),
      most,
    );
  }
  const last = going ?? strips.at(-1)!;
  return strips.length === 1 ? strips : without(last);
}

/** A text with spaces in the names that are longer than a line: after the last dot, slash, underscore or hyphen that fits. */
function breakable(text: string, most: number): string {
  const lines = new RegExp(String.raw`(?=\S{${most + 1}})\S{1,${most - 1}}[./_-](?=\S)`, 'gu');
  return text.replaceAll(lines, '$& ');
}

/** A text without its middle, if it is longer than `most` characters. */
function cut(text: string, most: number): string {
  const characters = [...text];
  if (characters.length <= most) return text;
  const head = Math.ceil((most - 1) / 2);
  return [...characters.slice(0, head), '…', ...characters.slice(characters.length - (most - 1 - head))].join('');
}

function pad(text: string, to: number, align: Column['align']): string {
  const spaces = ' '.repeat(Math.max(0, to - width(text)));
  return align === 'right' ? spaces + text : text + spaces;
}

/** The width of a text on a terminal: every character that we use takes one place. */
function width(text: string): number {
  return [...text].length;
}

/** A text as one line, without the colors and control characters that an error message may contain. */
function plainText(text: string): string {
  return stripVTControlCharacters(text)
    .replaceAll(/\p{Cc}+/gu, ' ')
    .trim();
}

/** The names of the npm packages that are compared. An `@` in front of other names may call somebody. */
const PACKAGE = 'duckdb/node-(?:api|bindings)|grpc/grpc-js|redis/client|uwdata/flechette|valkey/valkey-glide';

/** The places where GitHub would call somebody, or link a number or an address. */
const CALLS_OR_LINKS = new RegExp(
  String.raw`(?<!\w)@(?=\w)(?!(?:${PACKAGE})\b)|(?<=\w)@(?=[a-z])|#(?=\d)|\bwww(?=\.)|\b(?:https?|ftp|mailto|xmpp)(?=:)`,
  'giu',
);

/**
 * A text as one line in which nothing ends a table cell, opens a tag, starts emphasis, or is a link, an image or an
 * entity. Names and messages may come from files of strangers, and a report from them may become a comment on a pull
 * request. So an empty comment keeps GitHub from calling whom an `@` names, and from linking a number or an address.
 */
function markdownText(text: string): string {
  return plainText(text)
    .replaceAll(/[\\|<>*`[\]~]|&(?=#?\w+;)|^[#+-]|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu, String.raw`\$&`)
    .replaceAll(CALLS_OR_LINKS, '$&<!-- -->');
}
