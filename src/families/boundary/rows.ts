/**
 * The rows that cross, in JavaScript: objects, JSON, and columns. `native/suite/src/boundary/rows.rs` has the same in
 * Rust, and says which values they have.
 */
import type { RowShape } from './matrix.js';

/** A row of an id, a number and a text. */
export interface NamedRow {
  readonly id: number;
  readonly score: number;
  readonly name: string;
}

/** A row of an id and 3 numbers. */
export interface FourRow {
  readonly id: number;
  readonly a: number;
  readonly b: number;
  readonly c: number;
}

/** A row of an id and 7 numbers. */
export interface WideRow extends FourRow {
  readonly d: number;
  readonly e: number;
  readonly f: number;
  readonly g: number;
}

/** The functions of a mechanism that rows cross by. */
export interface RowFunctions {
  /** Passes the rows in, and returns the sum of their values. */
  readRows(): number;
  /** Gets rows from the other side, and returns the sum of their values. */
  makeRows(): number;
}

/** The work of JavaScript on the rows of one type. */
export interface RowKind<Row> {
  /** Makes `count` rows, whose texts have `characters` characters. */
  make(count: number, characters: number): Row[];
  /** The sum of all values of rows. */
  sum(rows: readonly Row[]): number;
  /** Writes rows into columns. */
  write(rows: readonly Row[], columns: RowColumns): void;
}

const LETTERS = 26;
const FIRST_LETTER = 'a'.charCodeAt(0);

/** The values after which the numbers of rows begin again. */
const PERIOD = 1000;

/** The number `number` of a row, beside its id. */
function numberOf(row: number, number: number): number {
  return ((row + number) % PERIOD) * 0.5;
}

const namesByLength = new Map<number, readonly string[]>();

/**
 * The texts of rows, made once for each length. They repeat after as many rows as there are letters. A text out of
 * `Buffer` is flat.
 */
function namesOf(characters: number): readonly string[] {
  const made = namesByLength.get(characters);
  if (made !== undefined) return made;
  const names = Array.from({ length: LETTERS }, (_row, row) =>
    Buffer.from(
      Uint8Array.from({ length: characters }, (_, place) => FIRST_LETTER + ((row + place) % LETTERS)),
    ).toString('latin1'),
  );
  namesByLength.set(characters, names);
  return names;
}

const NAMED: RowKind<NamedRow> = {
  make(count, characters) {
    const names = namesOf(characters);
    return Array.from({ length: count }, (_, row) => ({
      id: row,
      score: numberOf(row, 0),
      name: names[row % LETTERS]!,
    }));
  },
  sum(rows) {
    let sum = 0;
    for (const { id, score, name } of rows) sum += id + score + name.charCodeAt(name.length - 1);
    return sum;
  },
  write(rows, { ids, numbers, texts }) {
    texts.begin();
    for (let row = 0; row < rows.length; row += 1) {
      const { id, score, name } = rows[row]!;
      ids[row] = id;
      numbers[row] = score;
      texts.add(name);
    }
  },
};

const FOUR: RowKind<FourRow> = {
  make: (count) =>
    Array.from({ length: count }, (_, row) => ({
      id: row,
      a: numberOf(row, 0),
      b: numberOf(row, 1),
      c: numberOf(row, 2),
    })),
  sum(rows) {
    let sum = 0;
    for (const { id, a, b, c } of rows) sum += id + a + b + c;
    return sum;
  },
  write(rows, { ids, numbers }) {
    const count = rows.length;
    for (let row = 0; row < count; row += 1) {
      const { id, a, b, c } = rows[row]!;
      ids[row] = id;
      numbers[row] = a;
      numbers[count + row] = b;
      numbers[2 * count + row] = c;
    }
  },
};

const WIDE: RowKind<WideRow> = {
  make: (count) =>
    Array.from({ length: count }, (_, row) => ({
      id: row,
      a: numberOf(row, 0),
      b: numberOf(row, 1),
      c: numberOf(row, 2),
      d: numberOf(row, 3),
      e: numberOf(row, 4),
      f: numberOf(row, 5),
      g: numberOf(row, 6),
    })),
  sum(rows) {
    let sum = 0;
    for (const { id, a, b, c, d, e, f, g } of rows) sum += id + a + b + c + d + e + f + g;
    return sum;
  },
  write(rows, { ids, numbers }) {
    const count = rows.length;
    for (let row = 0; row < count; row += 1) {
      const { id, a, b, c, d, e, f, g } = rows[row]!;
      ids[row] = id;
      numbers[row] = a;
      numbers[count + row] = b;
      numbers[2 * count + row] = c;
      numbers[3 * count + row] = d;
      numbers[4 * count + row] = e;
      numbers[5 * count + row] = f;
      numbers[6 * count + row] = g;
    }
  },
};

/** The work of JavaScript on rows, by the number of a row's numbers. */
const KINDS: Readonly<Record<number, RowKind<NamedRow> | RowKind<FourRow> | RowKind<WideRow>>> = {
  2: NAMED,
  4: FOUR,
  8: WIDE,
};

/** The work of JavaScript on the rows of a shape. Its rows are opaque to the caller, and each process uses one kind. */
export function kindOf({ numbers }: Pick<RowShape, 'numbers'>): RowKind<unknown> {
  return KINDS[numbers] as RowKind<unknown>;
}

/** The sum of the values of `count` rows of a shape, by closed form. */
export function sumOfRows({ numbers, characters }: RowShape, count: number): number {
  let sum = (count * (count - 1)) / 2;
  for (let number = 0; number < numbers - 1; number += 1) sum += 0.5 * sumOfRemainders(number, count, PERIOD);
  return characters === 0 ? sum : sum + FIRST_LETTER * count + sumOfRemainders(characters - 1, count, LETTERS);
}

/** The sum of `(row + from) % period` over `count` rows. */
function sumOfRemainders(from: number, count: number, period: number): number {
  const whole = Math.floor(count / period);
  let sum = (whole * (period * (period - 1))) / 2;
  for (let row = whole * period; row < count; row += 1) sum += (row + from) % period;
  return sum;
}

/** The longest text whose characters are written one by one, which costs less than a call of the encoder. */
const SHORT_CHARACTERS = 32;

/** Texts one after the other in one piece of memory, with their offsets. */
export class RowTexts {
  /** The text of row `i` lies from `offsets[i]` to `offsets[i + 1]`. */
  readonly offsets: Uint32Array;
  readonly bytes: Uint8Array;
  readonly #encoder = new TextEncoder();
  readonly #decoder = new TextDecoder();
  #rows = 0;
  #end = 0;

  constructor(rows: number, characters: number) {
    // Rows without texts have no offsets either. A character has up to three bytes.
    this.offsets = new Uint32Array(characters === 0 ? 0 : rows + 1);
    this.bytes = new Uint8Array(rows * characters * 3);
  }

  /** Forgets all texts. */
  begin(): void {
    this.#rows = 0;
    this.#end = 0;
  }

  /** Appends a text. */
  add(text: string): void {
    const end = this.#end + this.#write(text, this.#end);
    this.#end = end;
    this.#rows += 1;
    this.offsets[this.#rows] = end;
  }

  /** Writes a text from a place on, and returns its size in bytes. */
  #write(text: string, at: number): number {
    const { bytes } = this;
    const { length } = text;
    if (length <= SHORT_CHARACTERS) {
      let place = 0;
      for (; place < length; place += 1) {
        const code = text.charCodeAt(place);
        if (code >= 0x80) break;
        bytes[at + place] = code;
      }
      if (place === length) return length;
    }
    return this.#encoder.encodeInto(text, bytes.subarray(at)).written;
  }

  /** The sum of the codes of the last characters of all texts, each of which is made as a string. */
  sum(size: number): number {
    const { offsets, bytes } = this;
    const all = this.#decoder.decode(bytes.subarray(0, size));
    // Byte offsets are character offsets too, if each character has one byte.
    const isOneByte = all.length === size;
    let sum = 0;
    for (let row = 0; row + 1 < offsets.length; row += 1) {
      const [from, to] = [offsets[row]!, offsets[row + 1]!];
      const text = isOneByte ? all.slice(from, to) : this.#decoder.decode(bytes.subarray(from, to));
      sum += text.charCodeAt(text.length - 1);
    }
    return sum;
  }
}

/** Rows as columns in memory of JavaScript's own, used for one call after the other. */
export class RowColumns {
  readonly ids: Int32Array;
  /** The columns of doubles, one after the other. */
  readonly numbers: Float64Array;
  readonly texts: RowTexts;

  constructor({ numbers, characters }: RowShape, count: number) {
    this.ids = new Int32Array(count);
    this.numbers = new Float64Array(count * (numbers - 1));
    this.texts = new RowTexts(count, characters);
  }

  /** The sum of all values, of texts whose size in bytes is given. */
  sum(size: number): number {
    const { ids, numbers, texts } = this;
    let sum = 0;
    for (let row = 0; row < ids.length; row += 1) sum += ids[row]!;
    for (let place = 0; place < numbers.length; place += 1) sum += numbers[place]!;
    return size === 0 ? sum : sum + texts.sum(size);
  }
}

/** The floor: rows that stay in JavaScript are read, or made and read. */
export function plainRows(shape: RowShape, count: number): RowFunctions {
  const kind = kindOf(shape);
  const { characters } = shape;
  const rows = kind.make(count, characters);
  return {
    readRows: () => kind.sum(rows),
    makeRows: () => kind.sum(kind.make(count, characters)),
  };
}
