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
