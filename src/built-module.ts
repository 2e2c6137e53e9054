/** The folder of the sources, if these run as they are, as in tests. */
const SOURCES = import.meta.url.endsWith('.ts') ? new URL('.', import.meta.url).href : undefined;

/** The URL of a module of this package as it is built. Threads and processes of Node take no TypeScript, even if a test does. */
export function builtModule(module: URL | string): URL {
  const { href } = new URL(module);
  if (SOURCES === undefined || !href.startsWith(SOURCES)) return new URL(href);
  return new URL(`../dist/${href.slice(SOURCES.length).replace(/\.ts$/, '.js')}`, SOURCES);
}

/**
 * Node's own flags for another process of this package: the flags of this process without the debugger's flags, whose port is
 * taken.
 */
export function inheritedFlags(): string[] {
  return process.execArgv.filter((flag) => !flag.startsWith('--inspect'));
}
