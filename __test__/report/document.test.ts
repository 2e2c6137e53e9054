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
    | red | 10 µs |
    "
  `);
});

test('Markdown of names and messages of strangers has no links, images, mentions and entities', () => {
  const hostile = [
    '[x](https://evil.example/a?b)',
    '![x](http://evil.example/a.png) www.evil.example',
    '@someone, me@mail.example, org/repo#12',
    '&lt;b&gt; &#64;someone ~~gone~~ # AT&T',
    '- [ ] a task',
  ];
  expect(renderMarkdown(hostile.map(paragraph))).toMatchInlineSnapshot(`
    "\\[x\\](https<!-- -->://evil.example/a?b)

    !\\[x\\](http<!-- -->://evil.example/a.png) www<!-- -->.evil.example

    @<!-- -->someone, me@<!-- -->mail.example, org/repo#<!-- -->12

    \\&lt;b\\&gt; \\&#<!-- -->64;someone \\~\\~gone\\~\\~ # AT&T

    \\- \\[ \\] a task
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

    Name  Number
    ────  ──────
    a|b        1
    red    10 µs
    "
  `);
});

const wide = tableBlock({
  columns: [
    { title: 'Workload' },
    { title: 'Flavor', goes: 0 },
    { title: 'Client' },
    { title: 'Rate', align: 'right', goes: 1 },
    { title: 'Factor', align: 'right' },
  ],
  rows: [
    ['insert.bulk', 'async', 'js · a client with a long name, columns', '3.56 M/s', '0.39× (0.12–0.42)'],
    ['query.full_scan', 'sync', 'napi · executeQuery', '71.0 M/s', '1.2× (1.1–1.3)'],
  ],
});

test('a table that is too wide leaves out columns, then breaks names, then leaves out the last', () => {
  expect(renderTerminal(wide)).toBe(renderTerminal(wide, { columns: 93 }));
  expect(renderTerminal(wide, { columns: 92 })).toMatchInlineSnapshot(`
    "Workload         Client                                       Rate             Factor
    ───────────────  ───────────────────────────────────────  ────────  ─────────────────
    insert.bulk      js · a client with a long name, columns  3.56 M/s  0.39× (0.12–0.42)
    query.full_scan  napi · executeQuery                      71.0 M/s     1.2× (1.1–1.3)
    (too narrow for: Flavor)
    "
  `);
  expect(renderTerminal(wide, { columns: 60 })).toMatchInlineSnapshot(`
    "Workload         Client                               Factor
    ───────────────  ────────────────────────  ─────────────────
    insert.bulk      js · a client with a      0.39× (0.12–0.42)
                     long name, columns
    query.full_scan  napi · executeQuery          1.2× (1.1–1.3)
    (too narrow for: Flavor, Rate)
    "
  `);
  expect(renderTerminal(wide, { columns: 30 })).toMatchInlineSnapshot(`
    "Workload      Client
    ────────────  ────────────
    insert.bulk   js · a
                  client with
                  a long name,
                  columns
    query.full_   napi ·
    scan          executeQuery
    (too narrow for: Flavor, Rate,
    Factor)
    "
  `);
});

test('texts are wrapped at words, texts of lists below their beginning', () => {
  const texts = [paragraph('one two three four'), ...list(['five six seven', 'a-word-that-is-longer-than-its-line'])];
  expect(renderTerminal(texts, { columns: 10 })).toBe(
    'one two\nthree four\n\n- five six\n  seven\n- a-word-that-is-longer-than-its-line\n',
  );
});
