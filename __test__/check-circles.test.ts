import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

import { expect, it } from 'vitest';
import { folderOfTest, writeFiles } from './temporary-folder.js';

const script = join(import.meta.dirname, '../native/check-circles.mjs');

/** Runs the check over files in a folder of their own. */
function check(files: Readonly<Record<string, string>>): { status: number | null; said: string } {
  const folder = folderOfTest();
  writeFiles(folder, files);
  const { status, stderr } = spawnSync(process.execPath, [script, folder], { encoding: 'utf8' });
  return { status, said: stderr };
}

const crate = { 'outer/Cargo.toml': '[package]\n', 'outer/src/lib.rs': 'mod a;\nmod b;\npub use a::A;\n' };

it('finds a circle of two modules and prints what makes it', () => {
  const { status, said } = check({
    ...crate,
    'outer/src/a.rs': '//! A.\n\nuse crate::b::{\n    B, C,\n};\n',
    'outer/src/b.rs': 'fn f() -> super::a::A {}\n',
  });
  expect(status).toBe(1);
  expect(said).toMatchInlineSnapshot(`
    "These modules import each other in a circle:
      outer/src/a.rs:3 imports outer/src/b.rs: use crate::b::{ B, C, };
      outer/src/b.rs:1 imports outer/src/a.rs: super::a::A
    "
  `);
});

it('finds a circle behind a re-export, in a crate within the folder of another', () => {
  const { status, said } = check({
    ...crate,
    'outer/src/a.rs': '',
    'outer/src/b.rs': '',
    'outer/inner/Cargo.toml': '[package]\n',
    'outer/inner/src/lib.rs': 'pub mod parts;\npub mod user;\n',
    'outer/inner/src/parts/mod.rs': 'mod one;\npub(crate) use one::{One as First, Two};\n',
    'outer/inner/src/parts/one.rs': 'use crate::user;\n',
    'outer/inner/src/user.rs': 'use crate::{parts::{First, Two}, user as me};\n',
  });
  expect(status).toBe(1);
  expect(said).toMatchInlineSnapshot(`
    "These modules import each other in a circle:
      outer/inner/src/parts/one.rs:1 imports outer/inner/src/user.rs: use crate::user;
      outer/inner/src/user.rs:1 imports outer/inner/src/parts/one.rs: use crate::{parts::{First, Two}, user as me};
    "
  `);
});

it('finds none if modules use those below them, the modules around them, or others in their tests alone', () => {
  const { status, said } = check({
    ...crate,
    'outer/src/a.rs': [
      'mod part;',
      'use std::fmt;',
      'use part::Part;',
      '#[cfg(test)]',
      'mod tests {',
      '    use crate::b::B;',
      '}',
      '// use crate::b::B;',
      'fn f() -> part::Part {}',
    ].join('\n'),
    'outer/src/a/part.rs': 'use super::A;\nuse crate::b::B;\n',
    'outer/src/b.rs': 'use fmt;\nuse crate::VERSION;\nmod inline {\n    use super::fmt;\n}\n',
  });
  expect(said).toBe('');
  expect(status).toBe(0);
});
