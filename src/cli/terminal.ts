import type { Terminal } from '../report/document.js';

/** The columns of a stream that is no terminal, if `COLUMNS` does not say. */
const USUAL_COLUMNS = 120;

/** The terminal behind a stream: its width, and whether it shows colors, which `NO_COLOR` and `FORCE_COLOR` change. */
export function terminalOf(
  stream: Pick<NodeJS.WriteStream, 'columns'> & Partial<Pick<NodeJS.WriteStream, 'hasColors'>>,
  { COLUMNS } = process.env,
): Required<Terminal> {
  const columns = stream.columns || (/^[1-9]\d*$/.test(COLUMNS ?? '') ? Number(COLUMNS) : USUAL_COLUMNS);
  return { columns, hasColors: stream.hasColors?.() ?? false };
}

/** Prints the findings of a command: as JSON if that is asked for, else as text. */
export function print(isJson: boolean | undefined, found: unknown, text: () => string): void {
  process.stdout.write(isJson ? `${JSON.stringify(found, null, 2)}\n` : text());
}
