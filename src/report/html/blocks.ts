import type { Block, Table } from '../document.js';
import { type Content, type Markup, markup } from './markup.js';
import { listOf } from './page.js';

/** The blocks of a report on a page. */
export function blocksMarkup(blocks: readonly Block[]): Markup {
  return markup`${blocks.map(blockMarkup)}`;
}

function blockMarkup(block: Block): Content {
  switch (block.kind) {
    case 'heading':
      return markup`<h3>${block.text}</h3>\n`;
    case 'paragraph':
      return markup`<p>${block.text}</p>\n`;
    case 'list':
      return listOf(block.items);
    case 'table':
      return tableMarkup(block.table);
  }
}

function tableMarkup({ columns, rows }: Table): Markup {
  const classOf = (index: number): string => (columns[index]?.align === 'right' ? 'number' : '');
  return markup`<div class="scroll" role="group" aria-label="Table" tabindex="0"><table class="stacks">
<thead><tr>${columns.map(({ title }, index) => markup`<th scope="col" class="${classOf(index)}">${title}</th>`)}</tr></thead>
<tbody>${rows.map((row) => markup`<tr>${row.map((cell, index) => markup`<td class="${classOf(index)}" data-of="${columns[index]?.title}">${cell}</td>`)}</tr>\n`)}</tbody>
</table></div>\n`;
}
