import { optionalVersion } from '../../clients/optional-package.js';
import { loadUserClient, userClientVersion } from '../user-client.js';
import type { PlannedRequests, RequestLane } from './grid.js';

/** A client that is compared. */
interface ClientEntry<Client> {
  /** Its npm package, which may not be installed. */
  readonly packageName: string;
  /** Imports it, only if it is measured. */
  load(): Promise<Client>;
}

/** The clients of a family's side `js`, by their names in the matrix, and the user's own. */
export class JsClients<Client extends { readonly connect: unknown }> {
  readonly #family: string;
  readonly #clients: Readonly<Record<string, ClientEntry<Client>>>;

  constructor(family: string, clients: Readonly<Record<string, ClientEntry<Client>>>) {
    this.#family = family;
    this.#clients = clients;
  }

  /** The client of a cell. Throws `BB_CLIENT` for a module of the user's that has none. */
  of({ client, clientModule }: Pick<PlannedRequests, 'client' | 'clientModule'>): Promise<Client> {
    return clientModule === undefined ? this.#entry(client).load() : loadUserClient(this.#family, clientModule);
  }

  /** The packages that a lane needs. */
  readonly packagesOf = ({ side, client, module }: RequestLane): readonly string[] =>
    side === 'js' && module === undefined ? [this.#entry(client).packageName] : [];

  /** The versions of the clients that the cells use, by their names. */
  readonly versions = (cells: readonly PlannedRequests[]): Readonly<Record<string, string>> => {
    const used = cells.map(({ cell, client, clientModule }) => {
      if (clientModule !== undefined) return userClientVersion({ name: client!, file: clientModule });
      return cell.side === 'js' && client !== undefined
        ? { [client]: optionalVersion(this.#entry(client).packageName) }
        : {};
    });
    return Object.assign({}, ...used) as Record<string, string>;
  };

  #entry(name: string | undefined): ClientEntry<Client> {
    const entry = this.#clients[name ?? ''];
    if (entry === undefined) throw new Error(`the family ${this.#family} has no client "${name}"`);
    return entry;
  }
}

/** The versions of the crates that the side `rust` is compared with, as `Cargo.lock` has them. */
export const CRATES: Readonly<Record<string, string>> = {
  mysql_async: '0.37.1',
  redis: '1.8.1',
  reqwest: '0.13.5',
  tonic: '0.14.9',
};

/** The versions of the crates that these cells use, by names that no client in JavaScript has. */
export function crateVersions(cells: readonly PlannedRequests[]): Readonly<Record<string, string>> {
  const names = new Set(cells.flatMap(({ cell, client }) => (cell.side === 'rust' ? (client ?? []) : [])));
  return Object.fromEntries([...names].map((name) => [`crate ${name}`, CRATES[name]!]));
}
