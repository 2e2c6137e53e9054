import type { PlannedRequests } from './grid.js';

/** The clients of a family's side `js`, by the names of their targets in the matrix. */
export class TargetClients<Client extends { version(): string }> {
  readonly #family: string;
  readonly #clients: Readonly<Record<string, Client>>;

  constructor(family: string, clients: Readonly<Record<string, Client>>) {
    this.#family = family;
    this.#clients = clients;
  }

  of(target: string | undefined): Client {
    const client = this.#clients[target ?? ''];
    if (client === undefined) throw new Error(`the family ${this.#family} has no client "${target}"`);
    return client;
  }

  /** The versions of the clients that the cells use, by their targets. */
  readonly versions = (cells: readonly PlannedRequests[]): Readonly<Record<string, string>> => {
    const targets = new Set(cells.flatMap(({ target }) => target ?? []));
    return Object.fromEntries([...targets].map((target) => [target, this.of(target).version()]));
  };
}
