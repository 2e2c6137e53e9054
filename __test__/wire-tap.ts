import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { listening } from './listening.js';

/** Counts the requests in all bytes that a client has sent on one connection. */
export type CountRequests = (sent: Buffer) => number;

interface Connection {
  sent: Buffer;
  /** The number of requests until which answers are held back. */
  held: number;
  /** Passes on the answers that came, unless they are held back. */
  readonly flush: () => void;
}

/** A TCP server between clients and a server, which sees what is sent on each connection and can hold the answers back. */
export class WireTap {
  readonly #server: Server;
  readonly #count: CountRequests;
  readonly #connections: Connection[] = [];
  /** The requests until which answers are held back on a connection that begins. */
  #held = 0;

  private constructor(host: string, port: number, count: CountRequests) {
    this.#count = count;
    this.#server = createServer((client) => this.#pass(client, connect(port, host)));
  }

  /** Starts a tap in front of the server of a URL. */
  static async start(url: string, count: CountRequests): Promise<WireTap> {
    const { hostname, port } = new URL(url);
    const tap = new WireTap(hostname, Number(port), count);
    await listening(tap.#server);
    return tap;
  }

  /** The URL of the server by way of the tap. */
  through(url: string): string {
    const { hostname, port } = new URL(url);
    return url.replace(`${hostname}:${port}`, `127.0.0.1:${(this.#server.address() as AddressInfo).port}`);
  }

  /** The requests of each connection since its begin. */
  get requests(): number[] {
    return this.#connections.map(({ sent }) => this.#count(sent));
  }

  /** Withholds answers on each connection until this number of further requests has come on it: a client that waits for answers waits forever. */
  hold(requests: number): void {
    this.#held = requests;
    for (const connection of this.#connections) connection.held = this.#count(connection.sent) + requests;
  }

  stop(): void {
    this.#server.close();
  }

  #pass(client: Socket, server: Socket): void {
    const answers: Buffer[] = [];
    const connection: Connection = {
      sent: Buffer.alloc(0),
      held: this.#held,
      flush: () => {
        if (this.#count(connection.sent) < connection.held) return;
        for (const answer of answers.splice(0)) client.write(answer);
      },
    };
    this.#connections.push(connection);
    client.on('data', (bytes) => {
      connection.sent = Buffer.concat([connection.sent, bytes]);
      server.write(bytes);
      connection.flush();
    });
    server.on('data', (bytes) => {
      answers.push(bytes);
      connection.flush();
    });
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      one.on('error', () => other.destroy());
      one.on('close', () => other.destroy());
    }
  }
}
