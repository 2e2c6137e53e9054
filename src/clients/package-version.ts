import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const require = createRequire(import.meta.url);

/** The version of an installed package, from its `package.json`, searched on disk, since packages need not export it. */
export function packageVersion(name: string): string {
  let folder = dirname(require.resolve(name));
  for (;;) {
    const manifest = readManifest(folder);
    if (manifest?.name === name && manifest.version !== undefined) return manifest.version;
    const parent = dirname(folder);
    if (parent === folder) throw new Error(`no package.json of "${name}" above ${require.resolve(name)}`);
    folder = parent;
  }
}

function readManifest(folder: string): { name?: string; version?: string } | undefined {
  try {
    return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { name?: string; version?: string };
  } catch {
    return undefined;
  }
}
