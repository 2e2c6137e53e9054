/** Figures as one SVG that stands alone, for pages that are not ours: in a README, say. */
import { wrapped } from '../document.js';
import { FIGURE_WIDTH } from './canvas.js';
import { Markup, markup } from './markup.js';
import { type Figure, sidesIn } from './page.js';
import type { SideStyle } from './side-style.js';
import { PICTURE_STYLE, withPlainColors } from './style.js';

export interface Picture {
  /** The content of the picture, for those who do not see it. */
  readonly title: string;
  readonly figures: readonly Figure[];
  /** The number of figures side by side. */
  readonly columns: number;
  /** The meaning of a hollow dot, if there are some. */
  readonly hollow?: string;
}

const GLYPHS: Readonly<Record<SideStyle['symbol'], string>> = { diamond: '◆', circle: '●', square: '■' };

const GAP = 20;
const LEGEND_HEIGHT = 34;
const HEAD_HEIGHT = 44;

/** The height of a line of a note, and the most characters that fit into the width of a figure. */
const NOTE_HEIGHT = 14;
const NOTE_LENGTH = 66;

/** The text of an SVG file. */
export function pictureText({ title, figures, columns, hollow }: Picture): string {
  const tops = Array.from({ length: columns }, () => LEGEND_HEIGHT);
  const placed = figures.map(({ title: name, note = '', picture }) => {
    // Each figure goes below the shortest column.
    const column = tops.indexOf(Math.min(...tops));
    const [x, y] = [GAP + column * (FIGURE_WIDTH + GAP), tops[column]!];
    const lines = wrapped(note, NOTE_LENGTH).split('\n');
    const head = HEAD_HEIGHT + (lines.length - 1) * NOTE_HEIGHT;
    tops[column] = y + head + heightOf(picture) + GAP;
    return markup`<g transform="translate(${x} ${y})">
<text x="2" y="16" font-size="14" font-weight="600" fill="var(--ink)">${name}</text>
${lines.map((line, index) => markup`<text x="2" y="${33 + index * NOTE_HEIGHT}" font-size="11" fill="var(--quiet)">${line}</text>\n`)}<g transform="translate(0 ${head})">${plain(picture)}</g>
</g>
`;
  });
  const [width, height] = [GAP + columns * (FIGURE_WIDTH + GAP), Math.max(...tops)];
  const content = markup`<rect width="100%" height="100%" rx="8" fill="var(--card)"/>
${legendMarkup(figures, hollow)}
${placed}`;
  return markup`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" font-family="system-ui, sans-serif" font-size="12">
<title>${title}</title>
<style>${new Markup(PICTURE_STYLE)}</style>
${new Markup(withPlainColors(content.text))}</svg>
`.text;
}

/** The legend as one text, since nobody measures texts here. */
function legendMarkup(figures: readonly Figure[], hollow: string | undefined): Markup {
  const sides = sidesIn(figures).map(({ meaning, color, symbol }) => {
    return markup`<tspan fill="${color}">${GLYPHS[symbol]}</tspan> ${meaning}    `;
  });
  const ring = hollow === undefined ? undefined : markup`<tspan fill="var(--quiet)">○</tspan> hollow: ${hollow}`;
  return markup`<text x="${GAP}" y="22" fill="var(--ink)">${sides}${ring}</text>`;
}

function heightOf({ text }: Markup): number {
  return Number(/ height="([\d.]+)"/.exec(text)?.[1] ?? 0);
}

/** A figure without what only a page shows: the texts under the pointer and the addresses for screen readers. */
function plain({ text }: Markup): Markup {
  return new Markup(text.replaceAll(/<title>[^<]*<\/title>/g, '').replaceAll(/ xmlns(:xlink)?="[^"]*"/g, ''));
}
