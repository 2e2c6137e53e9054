// Finds modules of a Rust crate that import each other in circles: `node native/check-circles.mjs [FOLDER] [--count]`, in native/ if no
// folder is given. `--count` also prints how many imports are between the files of each crate. For TypeScript the
// linter has a rule, `import/no-cycle`.
//
// A module is a file. It imports another one by a `use`, or by a path in its code that begins with `crate`, `self`, `super`, or the
// name of a module. The thing that such a path names may be a re-export. Then the module that has the thing is imported, not the one
// that passes it on. A module may use what an enclosing module has, since it is a part of that one. Code for tests does not count.
//
// The code is read by its layout. rustfmt makes this layout: no macro is expanded, and `use x::*` names no module behind `x`.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';

const { values, positionals } = parseArgs({ allowPositionals: true, options: { count: { type: 'boolean' } } });
const folder = path.resolve(positionals[0] ?? import.meta.dirname);
const roots = cratesIn(folder)
  .flatMap((crate) => [path.join(crate, 'src/lib.rs'), path.join(crate, 'src/main.rs')])
  .filter((file) => existsSync(file));
if (values.count) {
  for (const root of roots) {
    const imports = modulesOf(root).flatMap(importsOf);
    console.log(`${path.relative(folder, root)}: ${imports.length} imports between files`);
  }
}
const circles = roots.flatMap((root) => circlesOf(modulesOf(root)));
for (const circle of circles) {
  console.error('These modules import each other in a circle:');
  for (const { from, line, text, to } of circle) {
    console.error(`  ${path.relative(folder, from.file)}:${line} imports ${path.relative(folder, to.file)}: ${text}`);
  }
}
console.log(`${circles.length} circles of imports in ${path.relative(process.cwd(), folder) || '.'}`);
process.exitCode = circles.length > 0 ? 1 : 0;

/** The folders of crates. They may be within each other. */
function cratesIn(directory) {
  const entries = readdirSync(directory, { withFileTypes: true });
  const within = entries.filter(
    (entry) => entry.isDirectory() && !['node_modules', 'src', 'target'].includes(entry.name),
  );
  const nested = within.flatMap((entry) => cratesIn(path.join(directory, entry.name)));
  return entries.some((entry) => entry.name === 'Cargo.toml') ? [directory, ...nested] : nested;
}

/** The module of a file, and all modules within it. */
function modulesOf(file, parent) {
  const code = codeOf(readFileSync(file, 'utf8'));
  const module = { file, code, parent, uses: usesOf(code), children: new Map() };
  const name = path.basename(file, '.rs');
  const within = ['lib', 'main', 'mod'].includes(name) ? path.dirname(file) : path.join(path.dirname(file), name);
  const modules = [module];
  for (const [, child] of code.matchAll(/^(?:pub(?:\(.*\))? )?mod (\w+);/gm)) {
    const files = [path.join(within, `${child}.rs`), path.join(within, child, 'mod.rs')];
    const childFile = files.find((candidate) => existsSync(candidate));
    if (childFile === undefined) throw new Error(`${file} declares the module ${child}, which is in no file`);
    const [first, ...rest] = modulesOf(childFile, module);
    module.children.set(child, first);
    modules.push(first, ...rest);
  }
  return modules;
}

/** The code of a file with its lines, but without comments and what is for tests. */
function codeOf(text) {
  return (
    text
      .replaceAll(/(?<!:)\/\/.*/g, '')
      .replaceAll(/^( *)#\[cfg\(test\)\]\n(?: *#\[.*\n)*(?:.*;$|.*\{$[\s\S]*?^\1\};?$)/gm, linesOf)
      .replaceAll(/\bpub\(in .*?\)/g, 'pub')
      // In a module that is no file, `super` is the module of the file.
      .replaceAll(/^(?:pub(?:\(.*\))? )?mod \w+ \{$[\s\S]*?^\}$/gm, (body) => body.replaceAll('super::', 'self::'))
  );
}

function linesOf(text) {
  return text.replaceAll(/[^\n]/g, '');
}

/** The names in the `use` statements of a file: the words of each path, and the name it has in the file. */
function usesOf(code) {
  return [...code.matchAll(/^ *((?:pub(?:\(.*\))? )?use ([^;]+);)/gm)].flatMap(
    ({ 0: all, 1: statement, 2: tree, index }) =>
      pathsOf(tree).map((used) => {
        const [named, alias] = used.split(' as ');
        const words = named.replace(/::self$/, '').split('::');
        const line = lineAt(code, index + all.length - statement.length);
        return { words, name: alias ?? words.at(-1), text: statement.replaceAll(/\s+/g, ' '), line };
      }),
  );
}

/** The paths of a tree: `a::{b, c::{d, e}}` is `a::b`, `a::c::d` and `a::c::e`. */
function pathsOf(tree) {
  const [, head, list] = /^([^{]*)\{([\s\S]*)\}$/.exec(tree.trim()) ?? [];
  if (list === undefined) return [tree.trim()];
  const branches = [''];
  let depth = 0;
  for (const character of list) {
    if (character === '{') depth += 1;
    if (character === '}') depth -= 1;
    if (character === ',' && depth === 0) branches.push('');
    else branches[branches.length - 1] += character;
  }
  return branches
    .filter((branch) => branch.trim() !== '')
    .flatMap((branch) => pathsOf(branch).map((end) => head + end));
}

/**
 * The module that has the thing that the words name in a module, behind the uses passed. For a thing of another crate,
 * that crate itself.
 */
function ownerOf(module, [word, ...rest], passed = new Set()) {
  if (word === 'crate') return ownerOf(rootOf(module), rest, passed);
  if (word === 'self') return ownerOf(module, rest, passed);
  if (word === 'super') return ownerOf(module.parent, rest, passed);
  if (module.children.has(word)) return ownerOf(module.children.get(word), rest, passed);
  const use = module.uses.find(({ name }) => name === word);
  // A crate's name leads to itself.
  if (use === undefined || passed.has(use)) return module;
  return ownerOf(module, [...use.words, ...rest], passed.add(use));
}

function rootOf(module) {
  return module.parent === undefined ? module : rootOf(module.parent);
}

function lineAt(code, index) {
  return code.slice(0, index).split('\n').length;
}

/** The imports of a module: the first of each module that it imports. */
function importsOf(module) {
  const code = module.code.replaceAll(/\buse [^;]+;/g, linesOf);
  const paths = [...code.matchAll(/(?<![\w:$])[a-z]\w*(?:::\w+)+/g)].map(({ 0: text, index }) => {
    return { words: text.split('::'), text, line: lineAt(code, index) };
  });
  const imports = new Map();
  for (const { words, text, line } of [...module.uses, ...paths]) {
    const to = ownerOf(module, words);
    if (!isWithin(module, to) && !imports.has(to)) imports.set(to, { from: module, line, text, to });
  }
  return [...imports.values()];
}

/** Whether a module is another one or a part of it. */
function isWithin(module, other) {
  return module === other || (module.parent !== undefined && isWithin(module.parent, other));
}

/** The imports that make each circle: those between modules of which every one leads to every other one. */
function circlesOf(modules) {
  const imports = new Map(modules.map((module) => [module, importsOf(module)]));
  const leadsTo = (module, reached = new Set()) => {
    for (const { to } of imports.get(module)) {
      if (!reached.has(to)) leadsTo(to, reached.add(to));
    }
    return reached;
  };
  const reached = new Map(modules.map((module) => [module, leadsTo(module)]));
  const circle = (module) =>
    modules.filter((other) => reached.get(module).has(other) && reached.get(other).has(module));
  return modules
    .map(circle)
    .filter((members, index) => members[0] === modules[index])
    .map((members) => members.flatMap((from) => imports.get(from).filter(({ to }) => members.includes(to))));
}
