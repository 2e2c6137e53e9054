import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** What runs the reference server: inside the addon, in a process of its own. */
const PROGRAM = fileURLToPath(new URL('../../../dist/cli/main.js', import.meta.url));

/** The program of the reference server, with its first arguments; what it serves is said behind them. */
export function serveCommand(): string[] {
  return [process.execPath, PROGRAM, 'serve'];
}

/** Why the reference server can't be started, where that is known. */
export function serveSkip(): string | undefined {
  return existsSync(PROGRAM) ? undefined : `${PROGRAM} is not built: npm run build`;
}
