// Packs the package and looks at what its users would get: publint checks the statements of package.json about the files.
// arethetypeswrong checks whether each way to resolve the package finds declarations that fit its code. Needs no network.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { publint } from 'publint';
import { formatMessage } from 'publint/utils';

const root = path.join(import.meta.dirname, '..');
const folder = mkdtempSync(path.join(tmpdir(), 'boundary-bench-pack-'));
process.on('exit', () => rmSync(folder, { recursive: true }));

const packed = execFileSync('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', folder], {
  cwd: root,
  encoding: 'utf8',
  maxBuffer: 1 << 26,
  stdio: ['ignore', 'pipe', 'ignore'],
});
const tarball = path.join(folder, JSON.parse(packed)[0].filename);

const bytes = readFileSync(tarball);
const { messages, pkg } = await publint({
  pack: { tarball: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) },
  strict: true,
});
for (const message of messages)
  console.error(`publint: ${message.type}: ${formatMessage(message, pkg, { color: false })}`);

const manifest = createRequire(import.meta.url).resolve('@arethetypeswrong/cli/package.json');
const { bin } = JSON.parse(readFileSync(manifest, 'utf8'));
const attw = path.join(path.dirname(manifest), bin.attw);
// The resolution `node10` reads no `exports`, so that it finds no entry but the first.
const words = ['--profile', 'node16', '--no-emoji', '--no-color', '--format', 'ascii'];
const { status } = spawnSync(process.execPath, [attw, tarball, ...words], { stdio: 'inherit' });
if (messages.length > 0 || status !== 0) process.exit(1);
