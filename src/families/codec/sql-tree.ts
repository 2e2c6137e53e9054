/** The flat tree of SQL. The addon writes it into memory of ours, and a node is read when it is asked for. */
import { crossing } from '../../crossing-addon.js';
import { toBoundaryError } from '../../errors.js';

/** The numbers of the kinds of nodes. `native/codecs/src/sql/tree.rs` says what each has for children. */
export const KIND = {
  Absent: 0,
  List: 1,
  Statements: 2,
  Select: 3,
  Item: 4,
  Wildcard: 5,
  Table: 6,
  Derived: 7,
  Join: 8,
  Order: 9,
  CreateTable: 10,
  Column: 11,
  Insert: 12,
  Row: 13,
  Update: 14,
  Assignment: 15,
  Delete: 16,
  IsNull: 17,
  Between: 18,
  In: 19,
  Like: 20,
  Case: 21,
  Cast: 22,
  Exists: 23,
  Name: 24,
  Number: 25,
  Text: 26,
  Word: 27,
  Parameter: 28,
  Binary: 29,
  Unary: 30,
  Call: 31,
  Type: 32,
  Constraint: 33,
} as const;

/** The words of the nodes that there is room for before the first text: more than a statement of ordinary length has. */
const FIRST_WORDS = 4096;

/**
 * The tree of the text that was parsed last. A node is a number: children come before their parents, and the last node is the root,
 * of the kind `Statements`. Nothing but numbers crosses from the addon. Texts are cut out of the parsed text.
 */
export class SqlTree {
  readonly #parse = crossing.codec.sqlWordsParser();
  #sql = '';
  #nodes = 0;
  /**
   * The four words of each node: the kind with the flags in the upper half, the place and the length in characters of the text, and
   * the subtree's first node. So a node's last child is the node before it, and the child before a child is the node before that
   * child's first node.
   */
  #words = new Uint32Array(FIRST_WORDS);

  /**
   * Parses a text of one statement or several. The tree of the last text is gone then, even if this fails. Throws a `BoundaryError` with
   * the place for a text that is no SQL.
   */
  parse(sql: string): void {
    this.#nodes = 0;
    this.#sql = sql;
    try {
      let nodes = this.#parse(sql, this.#words);
      if (nodes < 0) {
        this.#words = new Uint32Array(2 * -nodes);
        nodes = this.#parse(sql, this.#words);
      }
      this.#nodes = nodes;
    } catch (thrown) {
      throw toBoundaryError(thrown);
    }
  }

  /** The number of nodes; 0 before the first text. */
  get length(): number {
    return this.#nodes;
  }

  /** The number of the root. */
  get root(): number {
    return this.#nodes - 1;
  }

  /** The kind of a node, one of `KIND`. */
  kind(node: number): number {
    return this.#words[4 * node]! & 0xffff;
  }

  /** The flags of a node. */
  flags(node: number): number {
    return this.#words[4 * node]! >>> 16;
  }

  /** The place of a node's text. */
  start(node: number): number {
    return this.#words[4 * node + 1]!;
  }

  /** The text of a node, as it was written. If its children are parts of it, this is the whole text. */
  text(node: number): string {
    const start = this.#words[4 * node + 1]!;
    return this.#sql.substring(start, start + this.#words[4 * node + 2]!);
  }

  /** Whether the text of a node says more than its children: a name, a value, an operator or a word. */
  hasText(node: number): boolean {
    return this.kind(node) >= KIND.Name;
  }

  /** The last child of a node; -1 without children. */
  lastChild(node: number): number {
    return this.#words[4 * node + 3]! < node ? node - 1 : -1;
  }

  /** The child of `parent` before its child `node`; -1 if that is the first one. */
  previous(node: number, parent: number): number {
    const first = this.#words[4 * node + 3]!;
    return first > this.#words[4 * parent + 3]! ? first - 1 : -1;
  }

  /** The number of a node's children. */
  childCount(node: number): number {
    const words = this.#words;
    const first = words[4 * node + 3]!;
    let count = 0;
    for (let next = node; next > first; next = words[4 * (next - 1) + 3]!) count += 1;
    return count;
  }

  /** The child of a node by its place, counted from 0; -1 if there is none. */
  child(node: number, place: number): number {
    let skipped = this.childCount(node) - 1 - place;
    if (skipped < 0 || place < 0) return -1;
    const words = this.#words;
    let child = node - 1;
    for (; skipped > 0; skipped -= 1) child = words[4 * child + 3]! - 1;
    return child;
  }

  /** The children of a node in their order. */
  children(node: number): number[] {
    const children: number[] = Array.from({ length: this.childCount(node) });
    let child = this.lastChild(node);
    for (let place = children.length - 1; place >= 0; place -= 1, child = this.previous(child, node)) {
      children[place] = child;
    }
    return children;
  }
}
