import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { vi } from 'vitest';

const WRITE = `
import json, sys, zipfile
with zipfile.ZipFile(sys.argv[1], 'w') as wheel:
    for path, text in json.loads(sys.argv[2]).items():
        wheel.writestr(path, text)
`;

/** Makes pip find only a wheel of a package, which has these files. */
export function offerWheel(folder: string, name: string, version: string, files: Record<string, string>): void {
  const wheels = join(folder, 'wheels');
  mkdirSync(wheels, { recursive: true });
  const about = {
    METADATA: `Metadata-Version: 2.1\nName: ${name}\nVersion: ${version}\n`,
    WHEEL: 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
    RECORD: '',
  };
  const infos = Object.entries(about).map(([file, text]) => [`${name}-${version}.dist-info/${file}`, text]);
  const all = JSON.stringify({ ...files, ...Object.fromEntries(infos) });
  execFileSync('python3', ['-c', WRITE, join(wheels, `${name}-${version}-py3-none-any.whl`), all]);
  vi.stubEnv('PIP_NO_INDEX', '1');
  vi.stubEnv('PIP_FIND_LINKS', wheels);
}
