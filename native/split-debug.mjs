// Moves debug information out of what is built: `node native/split-debug.mjs FILE...`.
//
// Cargo's own `strip` would throw it away, and its `split-debuginfo` leaves the symbols where they are. Debuggers and the back traces
// of panics find the separate file by the link that stays behind, as long as it lies beside the other.
import { execFileSync } from 'node:child_process';
import { existsSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';

/**
 * Moves the debug information and symbols of a library or program to a file beside it, `FILE.debug`. On Linux alone: the linkers of
 * macOS and Windows leave debug information elsewhere by themselves.
 */
export function splitDebug(file) {
  if (process.platform !== 'linux') return;
  const debug = `${path.basename(file)}.debug`;
  const folder = path.dirname(file);
  // Under another name first, since the file may be one that runs.
  const stripped = `${path.basename(file)}.stripped`;
  rmSync(path.join(folder, debug), { force: true });
  try {
    objcopy(folder, '--only-keep-debug', path.basename(file), debug);
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
    console.warn(`There is no objcopy: ${path.basename(file)} keeps its debug information, and can't be published.`);
    return;
  }
  objcopy(folder, '--strip-unneeded', `--add-gnu-debuglink=${debug}`, path.basename(file), stripped);
  renameSync(path.join(folder, stripped), file);
}

/** Runs the objcopy that rustup's toolchains bring along, else the objcopy of the C compiler. */
function objcopy(folder, ...words) {
  const rustc = (what) => execFileSync('rustc', ['--print', what], { encoding: 'utf8' }).trim();
  const own = path.join(rustc('target-libdir'), '../bin/rust-objcopy');
  const env = { ...process.env, LD_LIBRARY_PATH: path.join(rustc('sysroot'), 'lib') };
  if (existsSync(own)) execFileSync(own, words, { cwd: folder, env, stdio: 'inherit' });
  else execFileSync('objcopy', words, { cwd: folder, stdio: 'inherit' });
}

if (process.argv[1] === import.meta.filename) for (const file of process.argv.slice(2)) splitDebug(path.resolve(file));
