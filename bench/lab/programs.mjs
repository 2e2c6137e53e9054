// Other programs that the scripts of this folder measure next to ours.
import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The output of a program; throws if it fails. */
export function outputOf(program, args, { environment = {}, output = 'pipe' } = {}) {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    encoding: 'utf8',
    stdio: ['ignore', output, output],
    env: { ...process.env, ...environment },
  });
  if (error !== undefined) throw error;
  // Some programs print their errors to the output, and inherited output was shown already.
  if (status !== 0) throw new Error(`${program} ended with ${status}: ${stderr ?? ''}${stdout ?? ''}`);
  return stdout;
}

/** The first line of a program's version. Some programs print it to standard error, or with a usage that fails. */
export function versionLine(program) {
  const { stdout, stderr } = spawnSync(program, ['--version'], { encoding: 'utf8' });
  return `${stdout}${stderr}`
    .split('\n')
    .find((line) => /\d\.\d/.test(line))
    .trim();
}

/** The path of the first of the programs that is on the PATH. If none is, ends this process with the names of Debian's packages. */
export function findProgram(names, packages) {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    for (const name of names) {
      try {
        const path = join(folder, name);
        accessSync(path, constants.X_OK);
        return path;
      } catch {
        // Not in this folder; the next one is tried.
      }
    }
  }
  console.error(`${names.join(' or ')} is not on the PATH (Debian: ${packages})`);
  process.exit(2);
}

/** Builds an example of one of our crates for release, and the other `targets`. Returns the path of the example's program. */
export function builtExample(crate, example, targets = []) {
  outputOf('cargo', ['build', '--release', '--locked', '-p', crate, '--example', example, ...targets], {
    output: 'inherit',
  });
  const metadata = JSON.parse(outputOf('cargo', ['metadata', '--no-deps', '--format-version', '1']));
  return join(metadata.target_directory, 'release', 'examples', example);
}
