// Makes the import library that linkers of Windows need for a DLL which comes without one, as npm's libduckdb does.
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** Writes `NAME.lib` beside `NAME.dll`, for the functions whose names begin with `prefix`. The linker of rustup's toolchains writes it. */
export function makeImportLibrary(dll, prefix) {
  const base = dll.slice(0, -path.extname(dll).length);
  const names = exportsOf(readFileSync(dll)).filter((name) => name.startsWith(prefix));
  const definition = `${base}.def`;
  writeFileSync(definition, `LIBRARY ${path.basename(dll)}\nEXPORTS\n${names.join('\n')}\n`);
  const libraries = execFileSync('rustc', ['--print', 'target-libdir'], { encoding: 'utf8' }).trim();
  const linker = path.join(libraries, '../bin/rust-lld');
  const machine = process.arch === 'arm64' ? 'arm64' : 'x64';
  execFileSync(linker, ['-flavor', 'link', '/lib', `/def:${definition}`, `/machine:${machine}`, `/out:${base}.lib`]);
  rmSync(definition);
}

/** The names that a DLL exports. https://learn.microsoft.com/windows/win32/debug/pe-format has the layout of its headers. */
function exportsOf(bytes) {
  const head = bytes.readUInt32LE(0x3c);
  const optionalHead = head + 24;
  const sections = Array.from({ length: bytes.readUInt16LE(head + 6) }, (_, section) => {
    const at = optionalHead + bytes.readUInt16LE(head + 20) + section * 40;
    const [size, address, , from] = [8, 12, 16, 20].map((field) => bytes.readUInt32LE(at + field));
    return { size, address, from };
  });
  const placeOf = (address) => {
    const section = sections.find((each) => address >= each.address && address < each.address + each.size);
    return address - section.address + section.from;
  };
  const table = placeOf(bytes.readUInt32LE(optionalHead + 112));
  const names = placeOf(bytes.readUInt32LE(table + 32));
  return Array.from({ length: bytes.readUInt32LE(table + 24) }, (_, index) => {
    const start = placeOf(bytes.readUInt32LE(names + index * 4));
    return bytes.toString('latin1', start, bytes.indexOf(0, start));
  });
}
