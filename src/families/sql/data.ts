/** The rows of the family's tables, and the keys of requests, as `native/suite/src/sql/data.rs` has them. */
import type { Checksum } from '../../records/record.js';
import { SQL_MATRIX } from './matrix.js';

/** Key number `number`, from 0, of a table of `rows` rows. */
export function keyOf(number: number, rows: number): number {
  return 1 + ((number * SQL_MATRIX.stride) % rows);
}

/** A row of `bench_users`, in the order of its columns. */
export type User = readonly [id: number, name: string, age: number, active: boolean, score: number, email: string];

export function userOf(id: number): User {
  const name = `user_${String(id).padStart(6, '0')}`;
  return [id, name, 18 + (id % 62), id % 2 === 0, (1000 + (id % 1000)) / 10, `u${id}@b.local`];
}

/** A row of sysbench's table. The first digits of `c` tell its version: 1 after an update, else 0. */
export type Sbtest = readonly [id: number, k: number, c: string, pad: string];

export function sbtestOf(id: number, rows: number): Sbtest {
  return [id, kOf(id, rows), textOf(id, 0), groups(5, (group) => id * 6007 + group * 15_485_863)];
}

export function kOf(id: number, rows: number): number {
  return 1 + ((id * 31) % rows);
}

/** The column `c` of a row. */
export function textOf(id: number, version: number): string {
  return groups(10, (group) => (group === 0 ? id * 97 + version : id * 7919 + group * 104_729));
}

/** The number that the first digits of a column `c` are. */
export function versionOf(text: string): number {
  return Number(text.slice(0, 11));
}

/** Groups of eleven digits joined by dashes, as sysbench has them. */
function groups(count: number, number: (group: number) => number): string {
  return Array.from({ length: count }, (_, group) => String(number(group) % 100_000_000_000).padStart(11, '0')).join(
    '-',
  );
}

/** The length of the column `c`. */
export const TEXT_LENGTH = textOf(1, 0).length;

/**
 * The sums of values read or stored: the number of rows, the sums of their numbers, and the bytes of their texts, which
 * are all ASCII. Also the number of affected rows that writers were told.
 */
export class SqlSums {
  rows = 0;
  ints = 0;
  doubles = 0;
  texts = 0;
  affected = 0;

  addUser(user: User): void {
    this.rows += 1;
    this.ints += user[0] + user[2] + Number(user[3]);
    this.doubles += user[4];
    this.texts += user[1].length + user[5].length;
  }

  addSbtest([id, k, c, pad]: Sbtest): void {
    this.rows += 1;
    this.ints += id + k + versionOf(c);
    this.texts += c.length + pad.length;
  }

  checksum(): Checksum {
    return {
      rows: this.rows,
      sums: {
        ints: String(this.ints),
        doubles: this.doubles,
        texts: String(this.texts),
        affected: String(this.affected),
      },
    };
  }
}
