/** The names of clients of the user's, by the values of the option `--client`. */
import { basename } from 'node:path';

/** The file in a value of the option, `side:file`. */
export function clientFile(given: string): string {
  return given.slice(given.indexOf(':') + 1);
}

/** The name of a client in cells: the file's name without its ending. */
export function clientName(given: string): string {
  return basename(clientFile(given)).replace(/\.[^.]*$/, '');
}
