/** A page that stands alone: its style and its script are within it, and it may load nothing. */
import { createHash } from 'node:crypto';
import { Markup, markup } from './markup.js';
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

/**
 * The script within a page: it sorts and filters the table of records, and opens what is folded before the page is
 * printed. Without it the table is as the run has it.
 */
export const PAGE_SCRIPT = `'use strict';
const table = document.getElementById('records');
if (table) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const form = document.querySelector('form.filters');
  const [words, side, count] = ['words', 'side', 'count'].map((name) => document.getElementById('filter-' + name));
  const filter = () => {
    const asked = words.value.toLowerCase().split(' ').filter(Boolean);
    for (const row of rows) {
      const text = (row.title + ' ' + row.textContent).toLowerCase();
      row.hidden = (side.value !== '' && row.dataset.side !== side.value) || !asked.every((word) => text.includes(word));
    }
    const shown = rows.filter((row) => !row.hidden).length;
    count.textContent = shown === rows.length ? rows.length + ' records' : shown + ' of ' + rows.length + ' records';
  };
  form.hidden = false;
  form.addEventListener('input', filter);
  form.addEventListener('submit', (event) => event.preventDefault());
  addEventListener('hashchange', () => {
    // A link to a row that is filtered out shows it.
    const row = document.getElementById(location.hash.slice(1));
    if (row && row.hidden) {
      form.reset();
      filter();
      row.scrollIntoView();
    }
  });
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener('click', () => {
      const isDown = head.getAttribute('aria-sort') === 'ascending';
      for (const other of table.tHead.rows[0].cells) other.removeAttribute('aria-sort');
      head.setAttribute('aria-sort', isDown ? 'descending' : 'ascending');
      const sign = isDown ? -1 : 1;
      const compare = (a, b) => {
        const [x, y] = [a.cells[column], b.cells[column]];
        if (!head.classList.contains('number')) return sign * x.textContent.localeCompare(y.textContent);
        // A cell without a number stands last, in either order.
        const [m, n] = [x, y].map((cell) => (cell.dataset.value === undefined ? NaN : Number(cell.dataset.value)));
        return Number.isNaN(m) || Number.isNaN(n) ? Number.isNaN(m) - Number.isNaN(n) : sign * (m - n);
      };
      body.append(...rows.toSorted(compare));
    });
  });
}
addEventListener('beforeprint', () => {
  for (const details of document.querySelectorAll('details.print')) details.open = true;
});
`;

/** The script that may run, by its hash, so that nothing else that a name of a cell could smuggle in does. */
const SCRIPT_HASH = createHash('sha256').update(PAGE_SCRIPT).digest('base64');
const POLICY =
  `default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-${SCRIPT_HASH}'; ` +
  "base-uri 'none'; form-action 'none'";
