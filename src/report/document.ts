/** The blocks of a report, and their rendering as Markdown that pastes into a page, or as text for a terminal. */

export interface Column {
  readonly title: string;
  readonly align?: 'left' | 'right';
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

/** A list block; none if there are no items. */
export const list = (items: readonly string[]): Block[] => (items.length === 0 ? [] : [{ kind: 'list', items }]);

/** A table block; none if there are no rows. */
export const tableBlock = (table: Table): Block[] => (table.rows.length === 0 ? [] : [{ kind: 'table', table }]);

/** Makes columns of titles; a leading `>` marks a column of numbers, which is aligned right. */
export function columns(...titles: readonly string[]): Column[] {
  return titles.map((title) =>
    title.startsWith('>') ? { title: title.slice(1), align: 'right' } : { title, align: 'left' },
  );
}

export function renderMarkdown(blocks: readonly Block[]): string {
  return `${blocks.map(markdownBlock).join('\n\n')}\n`;
}

export function renderTerminal(blocks: readonly Block[]): string {
  return `${blocks.map(terminalBlock).join('\n\n')}\n`;
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

function terminalBlock(block: Block): string {
  switch (block.kind) {
    case 'heading': {
      const text = plainText(block.text);
      return block.level <= 2 ? `${text}\n${(block.level === 1 ? '=' : '-').repeat(width(text))}` : text;
    }
    case 'paragraph':
      return plainText(block.text);
    case 'list':
      return block.items.map((item) => `- ${plainText(item)}`).join('\n');
    case 'table':
      return terminalTable(block.table);
  }
}

function markdownTable({ columns: titles, rows }: Table): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [
    line(titles.map(({ title }) => markdownText(title))),
    line(titles.map(({ align }) => (align === 'right' ? '---:' : '---'))),
    ...rows.map((row) => line(row.map(markdownText))),
  ].join('\n');
}

function terminalTable({ columns: titles, rows }: Table): string {
  const cells = [titles.map(({ title }) => title), ...rows].map((row) => row.map(plainText));
  const widths = titles.map((_, index) => Math.max(...cells.map((row) => width(row[index] ?? ''))));
  const [head, ...body] = cells.map((row) =>
    row
      .map((cell, index) => pad(cell, widths[index] ?? 0, titles[index]?.align))
      .join('  ')
      .trimEnd(),
  );
  return [head, widths.map((columnWidth) => '─'.repeat(columnWidth)).join('  '), ...body].join('\n');
}

function pad(text: string, to: number, align: Column['align']): string {
  const spaces = ' '.repeat(Math.max(0, to - width(text)));
  return align === 'right' ? spaces + text : text + spaces;
}

/** The width of a text on a terminal: every character that we use takes one place. */
function width(text: string): number {
  return [...text].length;
}

/** A text as one line, without the control characters that an error message may contain. */
function plainText(text: string): string {
  return text.replaceAll(/\p{Cc}+/gu, ' ').trim();
}

/** A text as one line in which nothing ends a table cell, opens a tag or starts emphasis. */
function markdownText(text: string): string {
  return plainText(text).replaceAll(/[\\|<>*`]|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu, String.raw`\$&`);
}
