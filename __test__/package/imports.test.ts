/** The modules that the package imports by itself, without being asked to. */
import { readFileSync, readdirSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

import { MANIFEST, PACKAGE } from './installed.js';

const DIST = join(PACKAGE, 'dist');

/** `import ... from '...'`, `export ... from '...'` and `import '...'`, as the compiler writes them. */
const STATIC = /^(?:import|export)\b[^'"]*?\bfrom\s*['"]([^'"]+)['"]|^import\s*['"]([^'"]+)['"]/gm;
/** `import('...')` and `require('...')`. */
const ON_DEMAND = /\b(?:import|require)\(['"]([^'"]+)['"]\)/g;

function specifiersIn(file: string, pattern: RegExp): string[] {
  const code = readFileSync(file, 'utf8').replaceAll(/\/\*[^]*?\*\//g, '');
  return Array.from(code.matchAll(pattern), ([, from, alone]) => (from ?? alone)!);
}

function packageOf(specifier: string): string {
  return /^(?:@[^/]+\/)?[^/]+/.exec(specifier)![0];
}

/** The modules of this package that a module imports, also by other modules. */
function modulesBehind(entry: string): string[] {
  const seen = new Set<string>();
  const left = [join(DIST, entry)];
  for (let file = left.pop(); file !== undefined; file = left.pop()) {
    if (seen.has(file)) continue;
    seen.add(file);
    left.push(
      ...specifiersIn(file, STATIC)
        .filter((name) => name.startsWith('.'))
        .map((name) => resolve(dirname(file), name)),
    );
  }
  return Array.from(seen, (file) => relative(DIST, file));
}

/** The packages that a module imports by itself or by other modules of this package, with one of the modules that does. */
function packagesBehind(entry: string): Record<string, string> {
  const packages: Record<string, string> = {};
  for (const file of modulesBehind(entry)) {
    for (const specifier of specifiersIn(join(DIST, file), STATIC)) {
      if (!specifier.startsWith('.') && !isBuiltin(specifier)) packages[packageOf(specifier)] ??= file;
    }
  }
  return packages;
}

const modules = readdirSync(DIST, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.js'));

describe('the library', () => {
  it('imports no package, and nothing of the benchmark', () => {
    expect(packagesBehind('index.js')).toEqual({});
    const outside = modulesBehind('index.js').filter((file) =>
      /^(?:bench|cli|families|model|report|runner)\b/.test(file),
    );
    expect(outside).toEqual([]);
  });

  it('has its own dependency behind the benchmark', () => {
    expect(packagesBehind('bench.js')).toEqual({ 'hdr-histogram-js': 'stats/latency-histogram.js' });
  });

  it.each(modules.filter((file) => file.startsWith('library/')))('%s imports no package', (file) => {
    expect(packagesBehind(file)).toEqual({});
  });
});

describe('the command line', () => {
  it('imports its own dependencies alone', () => {
    expect(Object.keys(packagesBehind('cli/main.js')).toSorted()).toEqual(['commander', 'hdr-histogram-js']);
  });

  it.each(modules.filter((file) => /^families\/[^/]+\/(family|worker)\.js$/.test(file)))(
    '%s imports no package that is compared',
    (file) => {
      const compared = Object.keys(packagesBehind(file)).filter((name) => name in MANIFEST.peerDependencies);
      expect(compared).toEqual([]);
    },
  );
});

describe('packages that are compared', () => {
  it('are imported on demand, by the function that finds them in the project too', () => {
    const found = new Set<string>();
    for (const file of modules.map((name) => join(DIST, name))) {
      const names = specifiersIn(file, ON_DEMAND).map(packageOf);
      const compared = names.filter((name) => name in MANIFEST.peerDependencies);
      for (const name of compared) found.add(name);
      const demands = readFileSync(file, 'utf8').match(/await importPackage\(/g) ?? [];
      expect(demands.length, relative(DIST, file)).toBe(compared.length);
    }
    expect([...found].toSorted()).toEqual(Object.keys(MANIFEST.peerDependencies).toSorted());
  });
});
