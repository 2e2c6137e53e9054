import { writeFileSync } from 'node:fs';
import type { Command } from 'commander';

import { platformName } from '../addon-error.js';
import { BoundaryError } from '../errors.js';

/** The name of the first file. */
const FILE = 'first.bench.mjs';

/** A file that runs as it is, with a function of Node's own in native code instead of the user's addon. */
const TEMPLATE = `import { workload } from 'boundary-bench/bench';
// import { createRequire } from 'node:module';
// The addon as \`napi build --platform\` writes it:
// const { encode } = createRequire(import.meta.url)('./your-addon.${platformName()}.node');

export default workload('base64', {
  // The answer says from which size on which way is faster. Leave sizes out if there is one input.
  sizes: [16, 256, 4096, 65536],
  // Made once in each process, untimed. It must be the same in each: random values need a seed.
  input: (size) => Uint8Array.from({ length: size }, (_, index) => (index * 31) & 255),
  // The first word of a name is the side: js, wasm, napi or rust. All ways must return the same.
  ways: {
    js: (bytes) => btoa(String.fromCharCode.apply(null, bytes)),
    'js, by hand': (bytes) => byHand(bytes),
    // napi: (bytes) => encode(bytes),
    'native, Buffer': (bytes) => Buffer.from(bytes.buffer).toString('base64'),
  },
});

const SIGNS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

function byHand(bytes) {
  let text = '';
  for (let at = 0; at < bytes.length; at += 3) {
    const three = (bytes[at] << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
    text += SIGNS[three >> 18] + SIGNS[(three >> 12) & 63];
    text += at + 1 < bytes.length ? SIGNS[(three >> 6) & 63] : '=';
    text += at + 2 < bytes.length ? SIGNS[three & 63] : '=';
  }
  return text;
}
`;

export function addInitCommand(program: Command): void {
  program
    .command('init')
    .summary('write a first file with a workload of your own')
    .description('Writes a file with a workload of your own, which runs as it is, and which you change.')
    .argument('[file]', 'the file to write', FILE)
    .action((file: string) => {
      try {
        writeFileSync(file, TEMPLATE, { flag: 'wx' });
      } catch (thrown) {
        const { code, message } = thrown as NodeJS.ErrnoException;
        const what = code === 'EEXIST' ? `there is a file ${file} already` : `${file} can't be written: ${message}`;
        throw new BoundaryError('BB_USAGE', what, { hint: 'Name another file.', cause: thrown });
      }
      process.stdout.write(`Wrote ${file}. Measure it with:\n\n  npx boundary-bench run ${file} --quick\n`);
    });
}
