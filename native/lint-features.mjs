// Checks that builds with and without the feature `all` take the same features of the crates of others. Then a build of one kind takes the
// crates that a build of the other kind has compiled. `native/shared-features/Cargo.toml` has the features that `all` brings. cargo does
// not tell the crates of the program from those that it compiles once more for macros and build scripts, so the features of the latter may
// hide a difference.
import { execFileSync } from 'node:child_process';
import path from 'node:path';

const missing = ['addon', 'crossing'].flatMap((addon) => {
  const packages = [`boundary-bench-${addon}`, 'boundary-bench-suite'];
  const features = packages.map((name) => `${name}/all`).join(',');
  // `build.mjs` builds the reference servers along.
  const all = cratesOf([...packages, 'boundary-bench-server'], '--features', features);
  return [...cratesOf(packages)].filter((crate) => !all.has(crate)).map((crate) => `  ${crate} (for the ${addon})`);
});
if (missing.length > 0) {
  console.error(
    '`all` brings other features to these crates; add those features to native/shared-features/Cargo.toml:',
  );
  console.error(missing.join('\n'));
  process.exitCode = 1;
}

/** The crates of others that our packages need, with their features. */
function cratesOf(packages, ...more) {
  const args = [
    'tree',
    '--locked',
    '--edges',
    'normal,build',
    '--prefix',
    'none',
    '--format',
    '{p} {f}',
    '--no-default-features',
    ...more,
  ];
  const printed = execFileSync('cargo', [...args, ...packages.flatMap((name) => ['--package', name])], {
    cwd: path.join(import.meta.dirname, '..'),
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  });
  const lines = printed.split('\n').map((line) => line.replace(/ \(\*\)$/, ''));
  return new Set(lines.filter((line) => line !== '' && !line.startsWith('boundary-bench')));
}
