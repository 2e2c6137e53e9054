/** Prints the findings of a command: as JSON if that is asked for, else as text. */
export function print(isJson: boolean | undefined, found: unknown, text: () => string): void {
  process.stdout.write(isJson ? `${JSON.stringify(found, null, 2)}\n` : text());
}
