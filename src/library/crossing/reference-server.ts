import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The program that runs the reference server, which is part of the addon, in a process of its own. */
const PROGRAM = fileURLToPath(new URL('../../../dist/cli/main.js', import.meta.url));

/** The command of the reference server, to which the caller appends what to serve. */
export function serveCommand(): string[] {
  return [process.execPath, PROGRAM, 'serve'];
}

/** The reason why the reference server can't be started; undefined if none is known. */
export function serveSkip(): string | undefined {
  return existsSync(PROGRAM) ? undefined : `${PROGRAM} is not built: npm run build`;
}
