import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '..', '..');

/** The imports of names from the built package. */
const IMPORTS = /^import \{([^}]*)\} from '(?:\.\.\/)+(dist\/[^']*)'/gm;

it('imports of scripts have the names that the built package exports', async () => {
  const missing: string[] = [];
  const folders = ['bench', 'bench/docs', 'bench/lab', 'examples'];
  const scripts = folders.flatMap((folder) => readdirSync(join(ROOT, folder)).map((name) => join(folder, name)));
  let imports = 0;
  for (const script of scripts.filter((name) => name.endsWith('.mjs'))) {
    for (const [, names, path] of readFileSync(join(ROOT, script), 'utf8').matchAll(IMPORTS)) {
      const exported = Object.keys((await import(pathToFileURL(join(ROOT, path!)).href)) as object);
      const wanted = names!.split(',').map((name) => name.trim().split(' as ')[0]!);
      missing.push(
        ...wanted
          .filter((name) => name !== '' && !exported.includes(name))
          .map((name) => `${script}: ${name} of ${path}`),
      );
      imports += 1;
    }
  }
  expect(missing).toEqual([]);
  expect(imports).toBeGreaterThan(50);
});
