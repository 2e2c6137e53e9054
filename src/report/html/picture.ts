/** Figures as one SVG that stands alone, for pages that are not ours: in a README, say. */
import { FIGURE_WIDTH } from './canvas.js';
import { Markup, markup } from './markup.js';
import type { Figure } from './page.js';
import { SHAPES, SIDE_STYLES } from './side-style.js';
import { PICTURE_STYLE } from './style.js';

export interface Picture {
  /** What the picture shows, for those who do not see it. */
  readonly title: string;
  readonly figures: readonly Figure[];
  /** The figures beside each other. */
  readonly columns: number;
  /** What a hollow dot means, if there are some. */
  readonly hollow?: string;
}

const GAP = 20;
const LEGEND_HEIGHT = 34;
const HEAD_HEIGHT = 44;

/** The text of an SVG file. */
export function pictureText({ title, figures, columns, hollow }: Picture): string {
  const tops = Array.from({ length: columns }, () => LEGEND_HEIGHT);
  const placed = figures.map(({ title: name, note, picture }) => {
    // Each figure goes below the shortest column.
    const column = tops.indexOf(Math.min(...tops));
    const [x, y] = [GAP + column * (FIGURE_WIDTH + GAP), tops[column]!];
    tops[column] = y + HEAD_HEIGHT + heightOf(picture) + GAP;
    return markup`<g transform="translate(${x} ${y})">
<text x="2" y="16" font-size="14" font-weight="600" fill="var(--ink)">${name}</text>
<text x="2" y="33" font-size="11" fill="var(--quiet)">${note}</text>
<g transform="translate(0 ${HEAD_HEIGHT})">${plain(picture)}</g>
</g>
`;
  });
  const [width, height] = [GAP + columns * (FIGURE_WIDTH + GAP), Math.max(...tops)];
  return markup`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" font-family="system-ui, sans-serif" font-size="12">
<title>${title}</title>
<style>${new Markup(PICTURE_STYLE)}</style>
<rect width="100%" height="100%" rx="8" fill="var(--card)"/>
${legendMarkup(hollow)}
${placed}</svg>
`.text;
}

function legendMarkup(hollow: string | undefined): Markup {
  const ring = { meaning: `hollow: ${hollow}`, color: 'var(--quiet)', symbol: 'circle', isRing: true } as const;
  const entries = [
    ...Object.values(SIDE_STYLES).map((style) => ({ ...style, isRing: false })),
    ...(hollow === undefined ? [] : [ring]),
  ];
  let x = GAP;
  return markup`${entries.map(({ meaning: name, color, symbol, isRing }) => {
    const at = x;
    // The width of a letter in the mean, since nobody measures texts here.
    x += 28 + name.length * 6.4;
    const paint = isRing ? markup`fill="none" stroke="${color}" stroke-width="1.5"` : markup`fill="${color}"`;
    return markup`<g transform="translate(${at} 12)"><path d="${SHAPES[symbol]}" ${paint}/><text x="15" y="9" fill="var(--ink)">${name}</text></g>`;
  })}`;
}

function heightOf({ text }: Markup): number {
  return Number(/ height="([\d.]+)"/.exec(text)?.[1] ?? 0);
}

/** A figure without what only a page shows: the texts under the pointer and the addresses for screen readers. */
function plain({ text }: Markup): Markup {
  return new Markup(text.replaceAll(/<title>[^<]*<\/title>/g, '').replaceAll(/ xmlns(:xlink)?="[^"]*"/g, ''));
}
