import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of this package. */
export const PACKAGE = fileURLToPath(new URL('../../', import.meta.url));

/** The manifest of this package. */
export const MANIFEST = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  /** The packages that are compared. */
  readonly peerDependencies: Readonly<Record<string, string>>;
};

/** The parts of the package that its programs read. */
const PARTS = ['package.json', 'index.d.cts', 'dist', 'proto', 'schema', 'bench/matrix.json'];

/** The addons and the programs. */
function binaries(): readonly string[] {
  return readdirSync(PACKAGE).filter((file) =>
    /^boundary-bench(-all|-crossing|-native|-server)?\.[^.]+(\.node)?$/.test(file),
  );
}

/** A project in a folder of its own, in which this package is installed with some of its dependencies. */
export class InstalledPackage implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'boundary-bench-installed-'));
  /** The program of the command line. */
  readonly cli = join(this.folder, 'node_modules/boundary-bench/dist/cli/main.js');

  /** Installs this package with what it can't do without, and with these packages. */
  constructor(...packages: readonly string[]) {
    const home = join(this.folder, 'node_modules/boundary-bench');
    for (const part of PARTS) cpSync(join(PACKAGE, part), join(home, part), { recursive: true });
    for (const file of binaries()) symlinkSync(join(PACKAGE, file), join(home, file));
    for (const name of [...Object.keys(MANIFEST.dependencies), ...packages]) this.install(name, this.folder);
  }

  /** Installs a package of this one's own dependencies in a project's folder. */
  install(name: string, folder: string): void {
    const link = join(folder, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(PACKAGE, 'node_modules', name), link, 'junction');
  }

  /** Removes the addons and the programs, as if npm had left out the packages that hold them. */
  removeBinaries(): void {
    for (const file of binaries()) rmSync(join(this.folder, 'node_modules/boundary-bench', file));
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true });
  }
}
