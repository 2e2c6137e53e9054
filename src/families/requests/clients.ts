import type { PlannedRequests } from './grid.js';

/** The clients of a family's side `js`, by their names in the matrix. */
export class JsClients<Client extends { version(): string }> {
  readonly #family: string;
  readonly #clients: Readonly<Record<string, Client>>;

  constructor(family: string, clients: Readonly<Record<string, Client>>) {
    this.#family = family;
    this.#clients = clients;
  }

  of(name: string | undefined): Client {
    const client = this.#clients[name ?? ''];
    if (client === undefined) throw new Error(`the family ${this.#family} has no client "${name}"`);
    return client;
  }

  /** The versions of the clients that the cells use, by their names. */
  readonly versions = (cells: readonly PlannedRequests[]): Readonly<Record<string, string>> => {
    const names = new Set(cells.flatMap(({ cell, client }) => (cell.side === 'js' ? (client ?? []) : [])));
    return Object.fromEntries([...names].map((name) => [name, this.of(name).version()]));
  };
}
