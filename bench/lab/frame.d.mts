export function resultText(file: Readonly<Record<string, unknown>>): string;
