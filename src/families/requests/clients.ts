import { optionalVersion } from '../../clients/optional-package.js';
import type { PlannedRequests, RequestLane } from './grid.js';

/** A client that is compared. */
interface ClientEntry<Client> {
  /** Its npm package, which may not be installed. */
  readonly packageName: string;
  /** Imports it, only where it is measured. */
  load(): Promise<Client>;
}

/** The clients of a family's side `js`, by their names in the matrix. */
export class JsClients<Client> {
  readonly #family: string;
  readonly #clients: Readonly<Record<string, ClientEntry<Client>>>;

  constructor(family: string, clients: Readonly<Record<string, ClientEntry<Client>>>) {
    this.#family = family;
    this.#clients = clients;
  }

  of(name: string | undefined): Promise<Client> {
    return this.#entry(name).load();
  }

  /** The packages that a lane needs. */
  readonly packagesOf = ({ side, client }: RequestLane): readonly string[] =>
    side === 'js' ? [this.#entry(client).packageName] : [];

  /** The versions of the clients that the cells use, by their names. */
  readonly versions = (cells: readonly PlannedRequests[]): Readonly<Record<string, string>> => {
    const names = new Set(cells.flatMap(({ cell, client }) => (cell.side === 'js' ? (client ?? []) : [])));
    return Object.fromEntries([...names].map((name) => [name, optionalVersion(this.#entry(name).packageName)]));
  };

  #entry(name: string | undefined): ClientEntry<Client> {
    const entry = this.#clients[name ?? ''];
    if (entry === undefined) throw new Error(`the family ${this.#family} has no client "${name}"`);
    return entry;
  }
}
