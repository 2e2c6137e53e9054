// Lints proto/ by the rules of buf.yaml, and checks its formatting. npm has a package of buf for most platforms. On another
// platform this script fails with a message.
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';

const { platform, arch } = process;
const name = `@bufbuild/buf-${platform}-${platform === 'linux' && arch === 'arm64' ? 'aarch64' : arch}`;
let buf;
try {
  buf = createRequire(import.meta.url).resolve(`${name}/bin/buf`);
} catch {
  console.error(`proto/ is not linted: ${name} is not installed; there may be no buf for this platform`);
  process.exit(1);
}
for (const words of [['lint'], ['format', '--diff', '--exit-code']]) {
  const { status, error } = spawnSync(buf, words, { cwd: `${import.meta.dirname}/..`, stdio: 'inherit' });
  if (error !== undefined) console.error(`proto/ is not linted: ${error.message}`);
  if (status !== 0) process.exit(status ?? 1);
}
