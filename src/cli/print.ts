/** Prints what a command found: as JSON where that is asked for, else as text. */
export function print(isJson: boolean | undefined, found: unknown, text: () => string): void {
  process.stdout.write(isJson ? `${JSON.stringify(found, null, 2)}\n` : text());
}
