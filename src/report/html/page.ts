/** A page that stands alone: its style and its script are within it, and it may load nothing. */
import { createHash } from 'node:crypto';
import { Markup, markup } from './markup.js';
import { PAGE_SCRIPT } from './script.js';
import { SHAPES, SIDE_STYLES, type SideStyle } from './side-style.js';
import { PAGE_STYLE } from './style.js';

export interface Section {
  readonly id: string;
  readonly title: string;
  readonly content: Markup;
}

/** A picture with its title on a page. */
export interface Figure {
  readonly title: string;
  readonly note?: string;
  readonly picture: Markup;
}

/** The script that may run, by its hash, so that nothing else that a name of a cell could smuggle in does. */
const SCRIPT_HASH = createHash('sha256').update(PAGE_SCRIPT).digest('base64');
const POLICY =
  `default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-${SCRIPT_HASH}'; ` +
  "base-uri 'none'; form-action 'none'";

/** The text of a page. `lead` stands before its sections. */
export function pageText(title: string, lead: Markup, sections: readonly Section[]): string {
  const page = markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<title>${title}</title>
<style>${new Markup(PAGE_STYLE)}</style>
</head>
<body>
<a class="skip" href="#content">Skip the navigation</a>
<header>
<h1>${title}</h1>
${lead}
<nav aria-label="Sections">${sections.map(({ id, title: name }) => markup`<a href="#${id}">${name}</a> `)}</nav>
</header>
<main id="content" tabindex="-1">
${sections.map(sectionMarkup)}</main>
<script>${new Markup(PAGE_SCRIPT)}</script>
</body>
</html>
`;
  return page.text;
}

function sectionMarkup({ id, title, content }: Section): Markup {
  return markup`<section id="${id}" aria-labelledby="${id}-title">
<h2 id="${id}-title">${title}</h2>
${content}
</section>
`;
}

/** Pictures side by side, as many as fit. */
export function figures(all: readonly Figure[]): Markup {
  return markup`<div class="figures">
${all.map(
  ({ title, note, picture }) =>
    markup`<figure aria-label="${title}"><figcaption>${title}${note === undefined || note === '' ? undefined : markup`<small>${note}</small>`}</figcaption>${picture}</figure>\n`,
)}</div>`;
}

export function listOf(items: readonly string[], className = ''): Markup {
  return markup`<ul class="${className}">${items.map((item) => markup`<li>${item}</li>`)}</ul>`;
}

/** The colours of a picture with their names. */
export function legend(entries: readonly { readonly name: string; readonly symbol: Markup }[]): Markup {
  return markup`<ul class="legend">${entries.map(({ name, symbol }) => markup`<li><svg viewBox="0 0 10 10" aria-hidden="true">${symbol}</svg>${name}</li>`)}</ul>`;
}

/** The looks of the sides that figures show. */
export function sidesIn(all: readonly Figure[]): SideStyle[] {
  return Object.values(SIDE_STYLES).filter(({ color }) => all.some(({ picture }) => picture.text.includes(color)));
}

/** The meaning of the colours and the forms of dots in figures. `hollow`: the meaning of a hollow one, if there are some. */
export function sideLegend(all: readonly Figure[], hollow?: string): Markup {
  const sides = sidesIn(all).map(({ meaning: name, color, symbol }) => {
    return { name, symbol: markup`<path d="${SHAPES[symbol]}" fill="${color}"/>` };
  });
  const ring = markup`<path d="${SHAPES.circle}" fill="none" stroke="currentColor" stroke-width="1.5"/>`;
  return legend([...sides, ...(hollow === undefined ? [] : [{ name: `hollow: ${hollow}`, symbol: ring }])]);
}
