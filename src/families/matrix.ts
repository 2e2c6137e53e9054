/** Reads `bench/matrix.json`, which defines the families for both languages. `schema/matrix.schema.json` describes it. */
import { readFileSync } from 'node:fs';

let families: Readonly<Record<string, unknown>> | undefined;

/** The definition of a family. Its caller says what the schema says of it. */
export function familyMatrix<Matrix>(family: string): Matrix {
  families ??= readFamilies();
  const matrix = families[family];
  if (matrix === undefined) throw new Error(`bench/matrix.json has no family "${family}"`);
  return matrix as Matrix;
}

function readFamilies(): Readonly<Record<string, unknown>> {
  const file = new URL('../../bench/matrix.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { families: Record<string, unknown> }).families;
}
