import { expect, test } from 'vitest';
import {
  columns,
  heading,
  list,
  paragraph,
  renderMarkdown,
  renderTerminal,
  tableBlock,
} from '../../src/report/document.js';

const blocks = [
  heading(1, 'Title'),
  paragraph('a_b and _emphasis_, <tag>'),
  ...list(['one', 'two\nlines']),
  ...list([]),
  ...tableBlock({
    columns: columns('Name', '>Number'),
    rows: [
      ['a|b', '1'],
      ['\u001b[31mred\u001b[0m', '10 µs'],
    ],
  }),
  ...tableBlock({ columns: columns('Empty'), rows: [] }),
];

test('Markdown escapes what would break the page', () => {
  expect(renderMarkdown(blocks)).toMatchInlineSnapshot(`
    "# Title

    a_b and \\_emphasis\\_, \\<tag\\>

    - one
    - two lines

    | Name | Number |
    | --- | ---: |
    | a\\|b | 1 |
    | [31mred [0m | 10 µs |
    "
  `);
});

test('a terminal gets aligned columns and no control characters', () => {
  expect(renderTerminal(blocks)).toMatchInlineSnapshot(`
    "Title
    =====

    a_b and _emphasis_, <tag>

    - one
    - two lines

    Name         Number
    ───────────  ──────
    a|b               1
    [31mred [0m   10 µs
    "
  `);
});
