/** Clients of the user's, which the option `--client` puts next to ours. */
import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { BoundaryError } from '../errors.js';
import { clientFile, clientName, type Side } from '../records/record.js';

/** A module with a client of the user's. */
export interface UserClient {
  readonly side: Side;
  /** The absolute path of the module. */
  readonly file: string;
  /** The name of the client in cells: the file's name without its ending. */
  readonly name: string;
}

/**
 * The client that a value of the option names, as `side:file`. Throws `BB_USAGE` for a name that one of ours has: their
 * cells would have the same ids.
 */
export function userClientOf(given: string, ours: Iterable<string | undefined>): UserClient {
  const file = clientFile(given);
  const name = clientName(given);
  if (new Set(ours).has(name)) {
    throw new BoundaryError('BB_USAGE', `--client ${file}: one of our clients has the name ${name}`, {
      hint: `Rename the file, for example to my-${basename(file)}.`,
    });
  }
  return { side: given.slice(0, given.indexOf(':')) as Side, file, name };
}

/** Throws `BB_USAGE` if the file of a client is not there. Otherwise each of its cells would fail. */
export function requireClientFile(given: string): void {
  const file = clientFile(given);
  if (!existsSync(file)) throw new BoundaryError('BB_USAGE', `--client ${file}: there is no such file`);
}

/** The version of the package that has the file of a client, by name for the versions of a run. None if it is in no package with one. */
export function userClientVersion({ name, file }: Pick<UserClient, 'name' | 'file'>): Readonly<Record<string, string>> {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    const manifest = join(folder, 'package.json');
    if (existsSync(manifest)) {
      const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { readonly version?: unknown };
      if (typeof version === 'string') return { [name]: version };
    }
    if (folder === dirname(folder)) return {};
  }
}

/** Imports the client of a family. Throws `BB_CLIENT` if the module can't be loaded or exports none. */
export async function loadUserClient<Client extends { readonly connect: unknown }>(
  family: string,
  file: string,
): Promise<Client> {
  const hint = `Write: export default { connect: ... }. docs/own.md says what a client of ${family} does.`;
  let exported: Readonly<Record<string, unknown>>;
  try {
    exported = (await import(pathToFileURL(file).href)) as typeof exported;
  } catch (cause) {
    throw new BoundaryError('BB_CLIENT', `${file} can't be loaded: ${(cause as Error).message}`, { hint, cause });
  }
  const client = Object.values(exported).find(
    (value) => typeof (value as Partial<Client> | null | undefined)?.connect === 'function',
  );
  if (client === undefined) throw new BoundaryError('BB_CLIENT', `${file} exports no client`, { hint });
  return client as Client;
}
