/**
 * A server of the MySQL wire with a part of the dialect: a real server, in front of which the statements and values that the other
 * server can't take are replaced. What it refuses, and with which error, is what AxiomDB 0.1.0 refuses.
 */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

import { packet } from './scripted-mysql.js';

const VERSION = '8.0.36-AxiomDB-0.1.0';

/** The numbers of the collations that it takes at a login. */
const COLLATIONS: ReadonlySet<number> = new Set([8, 33, 45, 46, 47, 63, 83, 255]);

/** Statements that it refuses, with the number of its error. */
const REFUSED: readonly (readonly [statement: RegExp, error: number])[] = [
  [/SUM\(active\)/, 1292],
  [/(?:SUM|MAX|MIN|AVG)\((?:CASE|LENGTH|CAST)\b/, 1105],
  [/COALESCE\(SUM/, 1235],
  [/\bLEFT\(| AS SIGNED\)|CAST\(active /, 1064],
  [/^CREATE DATABASE IF NOT EXISTS /, 1064],
  [/^TRUNCATE TABLE /, 1235],
  [/^CREATE TABLE [^]*,\s*KEY /, 1064],
  [/^REPLACE |^SHOW CREATE TABLE | ON DUPLICATE KEY | ENGINE=/, 1064],
];

/** Commands of the protocol. */
const QUERY = 3;
const PREPARE = 22;
const EXECUTE = 23;

/** The commands that have no answer: parts of a value, and closing a statement. */
const UNANSWERED: ReadonlySet<number> = new Set([24, 25]);

/** Types of values in the protocol, with their bytes. */
const LONGLONG = 8;
const DOUBLE = 5;
const BYTES_OF: ReadonlyMap<number, number> = new Map([
  [1, 1],
  [2, 2],
  [3, 4],
  [4, 4],
  [DOUBLE, 8],
  [LONGLONG, 8],
]);

export interface PartialMysql extends AsyncDisposable {
  readonly url: string;
  /** The collations that clients have said, by their numbers. */
  readonly collations: ReadonlySet<number>;
  /** How many connections were closed in the transaction that they had begun. */
  readonly leftOpen: () => number;
  close(): void;
}

/** Habits of a server, in addition to its dialect. */
export interface PartialOptions {
  /** A statement, given as text or prepared, at which the server ends. */
  readonly endsAt?: RegExp;
  /** Whether a new table of users has a row of an earlier table. */
  readonly keepsRow?: boolean;
  /** Its port; absent: any. */
  readonly port?: number;
}

/** The state that the connections of a server share. */
interface Shared extends PartialOptions {
  /** The connection that is in the only transaction of the server. It stays open when that connection is closed. */
  transaction: Session | undefined;
  end(): void;
}

/** Starts it in front of the server at a URL. */
export async function startPartialMysql(url: string, options: PartialOptions = {}): Promise<PartialMysql> {
  const { hostname, port } = new URL(url);
  const collations = new Set<number>();
  const sockets = new Set<Socket>();
  let leftOpen = 0;
  const shared: Shared = {
    ...options,
    transaction: undefined,
    end: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
  const server = createServer((client) => {
    const behind = connect(Number(port), hostname);
    sockets.add(client);
    // Packets of an answer are written one by one.
    client.setNoDelay();
    behind.setNoDelay();
    client.on('error', () => behind.destroy());
    behind.on('error', () => client.destroy());
    client.on('close', () => {
      sockets.delete(client);
      behind.destroy();
      if (shared.transaction === session) leftOpen += 1;
    });
    behind.on('close', () => client.destroy());
    let isGreeted = false;
    /** Whether the client has sent its login, and the server its answer to that. */
    let hasSaid = false;
    let isIn = false;
    const session = new Session(shared);
    behind.on(
      'data',
      packetsOf((bytes) => {
        if (isIn) session.answered(bytes);
        else if (isGreeted && bytes[4] === 0) isIn = true;
        client.write(isGreeted ? bytes : greeting(bytes));
        isGreeted = true;
      }),
    );
    client.on(
      'data',
      packetsOf((bytes) => {
        if (hasSaid) return void behind.write(isIn ? session.taken(bytes) : bytes);
        hasSaid = true;
        const collation = bytes[12]!;
        collations.add(collation);
        if (COLLATIONS.has(collation)) return void behind.write(bytes);
        const text = `#08004Unsupported handshake character_set id: ${collation}`;
        return void client.end(packet(bytes[3]! + 1, [0xff, 0x13, 0x04, ...Buffer.from(text)]));
      }),
    );
  });
  await new Promise<void>((done) => void server.listen(options.port ?? 0, '127.0.0.1', done));
  const own = new URL(url);
  own.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = (): void => void server.close();
  return { url: own.href, collations, leftOpen: () => leftOpen, close, [Symbol.asyncDispose]: async () => close() };
}

/** Takes bytes, and hands on whole packets. */
function packetsOf(take: (bytes: Buffer) => void): (data: Buffer) => void {
  let bytes = Buffer.alloc(0);
  return (data) => {
    bytes = Buffer.concat([bytes, data]);
    while (bytes.length >= 4 && bytes.length >= 4 + bytes.readUIntLE(0, 3)) {
      const end = 4 + bytes.readUIntLE(0, 3);
      take(bytes.subarray(0, end));
      bytes = bytes.subarray(end);
    }
  };
}

/** The greeting of the real server, without what the other one lacks: TLS, and all that only MariaDB has. */
function greeting(bytes: Buffer): Buffer {
  const end = bytes.indexOf(0, 5);
  const rest = Buffer.from(bytes.subarray(end + 1));
  // The number of the connection, eight bytes of the nonce and a zero, then the lower capabilities.
  rest.writeUInt16LE((rest.readUInt16LE(13) | 1) & ~0x0800, 13);
  // The bytes that MySQL reserves and MariaDB has further capabilities in.
  rest.fill(0, 21, 31);
  return packet(0, Buffer.concat([Buffer.from([10]), Buffer.from(`${VERSION}\0`), rest]));
}

/** The statements of a connection. */
class Session {
  readonly #prepared = new Map<number, string>();
  /** The commands without an answer so far. */
  readonly #asked: Buffer[] = [];
  #lastSequence = 1;
  readonly #types = new Map<number, readonly number[]>();
  readonly #shared: Shared;

  constructor(shared: Shared) {
    this.#shared = shared;
  }

  /** The packet that the real server gets instead of a packet of the client. */
  taken(bytes: Buffer): Buffer {
    const isCommand = bytes[3] === 0;
    if (isCommand && !UNANSWERED.has(bytes[4]!)) this.#asked.push(bytes);
    if (isCommand && (bytes[4] === QUERY || bytes[4] === PREPARE)) {
      if (this.#shared.endsAt?.test(bytes.toString('utf8', 5)) === true) this.#shared.end();
    }
    if (isCommand && bytes[4] === QUERY) return packet(0, Buffer.concat([bytes.subarray(4, 5), this.#text(bytes)]));
    return isCommand && bytes[4] === EXECUTE ? this.#execution(bytes) : bytes;
  }

  /** Notes the number that the server gives a statement, in the first packet of its answer. */
  answered(bytes: Buffer): void {
    // The numbers of an answer's packets go from 1 to 255, and on from 0.
    const isFirst = bytes[3] === 1 && this.#lastSequence !== 0;
    this.#lastSequence = bytes[3]!;
    const command = isFirst ? this.#asked.shift() : undefined;
    if (command?.[4] === PREPARE && bytes[4] === 0) {
      this.#prepared.set(bytes.readUInt32LE(5), command.toString('utf8', 5));
    }
  }

  /** An execution that finds nothing if a condition has an integer of another type than the columns, `INT`. */
  #execution(bytes: Buffer): Buffer {
    const id = bytes.readUInt32LE(5);
    const sql = this.#prepared.get(id)!;
    const places = [...sql.matchAll(/\?/g)].map(({ index }) => index);
    if (places.length === 0) return bytes;
    const where = sql.indexOf(' WHERE ');
    const changed = Buffer.from(bytes);
    let at = 14 + ((places.length + 7) >> 3);
    if (changed[at++] === 1) {
      this.#types.set(
        id,
        places.map((_, index) => changed[at + 2 * index]!),
      );
      at += 2 * places.length;
    }
    for (const [index, type] of this.#types.get(id)!.entries()) {
      if ((changed[14 + (index >> 3)]! & (1 << (index & 7))) !== 0) continue;
      const size = BYTES_OF.get(type);
      // A text has its length before it: in one byte, or in two after a byte that says so.
      const isLong = size === undefined && changed[at] === 0xfc;
      const length = size ?? (isLong ? changed.readUInt16LE(at + 1) : changed[at]!);
      if (size === undefined) at += isLong ? 3 : 1;
      const isKey = where !== -1 && places[index]! > where;
      if (isKey && type === DOUBLE) changed.writeDoubleLE(-1, at);
      else if (isKey && type === LONGLONG) changed.writeBigInt64LE(-1n, at);
      else if (isKey && size === undefined) changed.fill('-', at, at + length);
      at += length;
    }
    return changed;
  }

  /** The text of a statement, for the real server: an error instead of a refused part, and no names of aggregates. */
  #text(bytes: Buffer): Buffer {
    const sql = bytes.toString('utf8', 5);
    const error = REFUSED.find(([statement]) => statement.test(sql))?.[1] ?? this.#transactionError(sql);
    if (error !== undefined) {
      return Buffer.from(
        `SIGNAL SQLSTATE '42000' SET MYSQL_ERRNO = ${error}, MESSAGE_TEXT = 'the server does not know it'`,
      );
    }
    const isUsers = this.#shared.keepsRow === true && /^CREATE TABLE [^]*\bscore\b/.test(sql);
    return Buffer.from(
      isUsers
        ? `${sql} SELECT 1000000 id, 'old' name, 1 age, 1 active, 1 score, 'old' email`
        : sql.replaceAll(/ AS (n|ints|doubles|texts)\b/g, ''),
    );
  }

  /** Follows the transaction of the server; returns the error of a further one. */
  #transactionError(sql: string): number | undefined {
    const shared = this.#shared;
    if (/^(BEGIN|START TRANSACTION)\b/.test(sql)) {
      if (shared.transaction !== undefined) return 1213;
      shared.transaction = this;
      // A definition ends it, too.
    } else if (/^(COMMIT|ROLLBACK|CREATE|DROP|ALTER)\b/.test(sql)) shared.transaction = undefined;
    return undefined;
  }
}
