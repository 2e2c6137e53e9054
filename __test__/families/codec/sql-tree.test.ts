import { readFileSync } from 'node:fs';

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { crossing } from '../../../src/crossing-addon.js';
import { KIND, SqlTree } from '../../../src/families/codec/sql-tree.js';
import { errorWith } from '../../error-with.js';

/**
 * A statement with its tree, of which the parser's own tests read the same: `tree` has names and values by their text, other nodes by
 * their text or their kind, with the flags if there are any, and with the children in parentheses; an absent part is `-`.
 * `expression` is the tree of the first item of a SELECT without other parts.
 */
interface Example {
  readonly sql: string;
  readonly tree?: string;
  readonly expression?: string;
}

const examples = JSON.parse(
  readFileSync(new URL('../../fixtures/sql-trees.json', import.meta.url), 'utf8'),
) as readonly Example[];

const NAMES = Object.fromEntries(Object.entries(KIND).map(([name, number]) => [number, name]));
const LEAVES: readonly number[] = [KIND.Name, KIND.Number, KIND.Text, KIND.Word, KIND.Parameter];

function shown(tree: SqlTree, node: number): string {
  const kind = tree.kind(node);
  if (kind === KIND.Absent) return '-';
  const name = tree.hasText(node) ? tree.text(node) : NAMES[kind]!;
  if (LEAVES.includes(kind)) return name;
  const flags = tree.flags(node) === 0 ? '' : `!${tree.flags(node)}`;
  const children = tree.children(node).map((child) => shown(tree, child));
  return `${name}${flags}(${children.join(' ')})`;
}

type SqlNode = ReturnType<typeof crossing.codec.sqlObjects>;

/** A node of the flat tree in the form of the other ones. */
function nested(tree: SqlTree, node: number): SqlNode {
  return {
    kind: tree.kind(node),
    flags: tree.flags(node),
    start: tree.start(node),
    length: tree.text(node).length,
    ...(tree.hasText(node) ? { text: tree.text(node) } : {}),
    children: tree.children(node).map((child) => nested(tree, child)),
  };
}

/** The result of some work, or the message of the error that it throws, without its code. */
function outcome(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return (error as Error).message.replace('[BB_INVALID_ARGUMENT] ', '');
  }
}

describe('the tree', () => {
  it('of each example is the one that Rust reads', () => {
    const tree = new SqlTree();
    const kinds = new Set<number>();
    for (const { sql, tree: whole, expression } of examples) {
      tree.parse(sql);
      const expected = whole ?? `Statements(Select(List(Item(${expression} -)) - - - - - - -))`;
      expect(shown(tree, tree.root), sql).toBe(expected);
      for (let node = 0; node < tree.length; node += 1) kinds.add(tree.kind(node));
    }
    // Each number stands for the kind of the same name, since each is in an example.
    expect([...kinds].toSorted((one, other) => one - other)).toEqual(Object.values(KIND));
  });

  it('is the same as JSON and as objects', () => {
    const tree = new SqlTree();
    for (const { sql } of examples) {
      tree.parse(sql);
      const expected = nested(tree, tree.root);
      expect(JSON.parse(crossing.codec.sqlJson(sql)), sql).toEqual(expected);
      expect(crossing.codec.sqlObjects(sql), sql).toEqual(expected);
    }
  });

  it('is the same as JSON and as objects for words in any order', () => {
    const tree = new SqlTree();
    const words = ['SELECT', 'a', 't.b', '*', ',', 'FROM', '(', ')', 'WHERE', '=', 'AND', 'NOT', 'IN', '1', "'ä'"];
    const sqls = fc
      .array(fc.constantFrom(...words, 'LIKE', 'IS NULL', 'ORDER BY', 'DESC', ';', '"\u{1f600}"', '\u0000', '\n'))
      .map((chosen) => `SELECT ${chosen.join(' ')}`);
    fc.assert(
      fc.property(sqls, (sql) => {
        const json = outcome(() => JSON.parse(crossing.codec.sqlJson(sql)));
        const flat = outcome(() => {
          tree.parse(sql);
          return nested(tree, tree.root);
        });
        const objects = outcome(() => crossing.codec.sqlObjects(sql));
        expect([flat, objects]).toEqual([json, json]);
        const isValid = typeof json === 'object';
        expect([crossing.codec.sqlIsValid(sql), tree.length > 0]).toEqual([isValid, isValid]);
      }),
      { numRuns: 2000 },
    );
  });

  it('has its nodes by their places', () => {
    const tree = new SqlTree();
    tree.parse('SELECT a, b, c FROM t');
    const select = tree.child(tree.root, 0);
    const items = tree.child(select, 0);
    expect([tree.childCount(select), tree.childCount(items)]).toEqual([8, 3]);
    expect([0, 1, 2].map((place) => tree.text(tree.child(items, place)))).toEqual(['a', 'b', 'c']);
    expect([tree.child(items, 3), tree.child(items, -1), tree.child(tree.child(select, 2), 0)]).toEqual([-1, -1, -1]);
    const last = tree.lastChild(items);
    expect([last, tree.previous(last, items)]).toEqual([tree.child(items, 2), tree.child(items, 1)]);
    expect(tree.previous(tree.child(items, 0), items)).toBe(-1);
    expect(tree.lastChild(0)).toBe(-1);
    expect([tree.text(select), tree.start(items)]).toEqual(['SELECT a, b, c FROM t', 7]);
  });

  it('is empty before the first text, and after one that is no SQL', () => {
    const tree = new SqlTree();
    expect([tree.length, tree.root]).toEqual([0, -1]);
    tree.parse('SELECT 1');
    expect(tree.length).toBeGreaterThan(0);
    expect(() => tree.parse('SELECT ä')).toThrow(errorWith('BB_INVALID_ARGUMENT', 'at byte 7'));
    expect(tree.length).toBe(0);
    expect(() => tree.parse(7 as unknown as string)).toThrow(expect.objectContaining({ code: 'BB_INVALID_ARGUMENT' }));
  });

  it.each([1, 100, 340, 341, 342, 100_000])('of %i values has room', (values) => {
    const tree = new SqlTree();
    const names = Array.from({ length: values }, (_, value) => `v${value}`);
    tree.parse(`SELECT ${names.join(',')}`);
    const items = tree.child(tree.child(tree.root, 0), 0);
    expect(tree.childCount(items)).toBe(values);
    expect(tree.children(items).map((item) => tree.text(item))).toEqual(names);
  });

  it.each([10, 250, 251, 252, 253, 254, 255, 256, 257, 1018, 1019, 1020, 1021, 1022, 1023, 1024, 1025, 70_000])(
    'of a text of %i characters is read to its end',
    (length) => {
      const tree = new SqlTree();
      for (const character of ['a', 'ä', '\u20ac', '\u{1f600}', '\uD800']) {
        const text = `'${character.repeat(length)}'`;
        tree.parse(`SELECT ${text}`);
        const item = tree.child(tree.child(tree.child(tree.root, 0), 0), 0);
        expect(tree.text(item) === text, character).toBe(true);
      }
    },
  );

  it('of a long chain of operators is deep, and makes no objects', () => {
    const tree = new SqlTree();
    const chain = (terms: number): string => `SELECT 1${' + 1'.repeat(terms)}`;
    tree.parse(chain(100_000));
    let [depth, node] = [0, tree.root];
    for (let child = node; child >= 0; child = tree.child(child, 0)) [depth, node] = [depth + 1, child];
    expect([depth, tree.text(node)]).toEqual([100_005, '1']);
    const json = crossing.codec.sqlJson(chain(100_000));
    expect(json.split('"text":"+"')).toHaveLength(100_001);
    expect(JSON.stringify(crossing.codec.sqlObjects(chain(900))).split('"text":"+"')).toHaveLength(901);
    expect(() => crossing.codec.sqlObjects(chain(1000))).toThrow('[BB_TOO_LARGE]');
    expect(() => crossing.codec.sqlObjects(chain(100_000))).toThrow('[BB_TOO_LARGE]');
  });

  it.each(['(', '- ', 'NOT ', 'f(', 'CASE WHEN ', 'a IN ('])('of endlessly nested "%s" is refused', (opened) => {
    expect(crossing.codec.sqlIsValid(`SELECT ${opened.repeat(1_000_000)}`)).toBe(false);
    expect(() => crossing.codec.sqlJson(`SELECT ${opened.repeat(1000)}`)).toThrow('nested too deeply');
  });
});
