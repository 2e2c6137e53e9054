/**
 * The API reference, docs/api.md. It is made from the declarations in dist/ by the API of the installed compiler: each
 * exported item with its comment, its example and its declaration, by area. It also has the interfaces that exported
 * ones extend or are made of, and the options of a run, which tables of options declare.
 */
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

import { API, NodeBuilderFlags, SymbolFlags } from 'typescript/unstable/sync';
import { SyntaxKind } from 'typescript/unstable/ast';

import { FAMILY_OPTIONS } from '../../dist/families/registry.js';
import { columns, renderMarkdown, tableBlock } from '../../dist/report/document.js';
import { MATRIX_OPTIONS, SAMPLING_OPTIONS } from '../../dist/runner/run-config.js';

const ROOT = join(import.meta.dirname, '..', '..');
const DIST = join(ROOT, 'dist');
const ENTRIES = ['index', 'bench', 'testing/vitest'].map((entry) => join(DIST, `${entry}.d.ts`));
const PROJECT = join(import.meta.dirname, 'api.tsconfig.json');

/** The areas of the page in their order, with the folders of their declarations. The first that fits counts. */
const AREAS = [
  { title: 'Engines: rows and columns', folders: ['library/engine'] },
  { title: 'Keys and values', folders: ['library/kv'] },
  { title: 'SQL', folders: ['library/sql'] },
  { title: 'HTTP', folders: ['library/http'] },
  { title: 'Shards', folders: ['library/shards'] },
  { title: 'Worker threads', folders: ['library/workers'] },
  { title: 'Codecs', folders: ['library/codecs'] },
  {
    title: 'Errors and options that clients share',
    folders: ['errors', 'library/crossing', 'index.d.ts', '../index.d'],
  },
  { title: 'Workloads of your own', folders: ['families', 'testing'] },
  { title: 'Runs, their records and reports', folders: ['run', 'runner', 'records', 'report', 'compare', 'stats', ''] },
];

/** Declarations whose members are listed one by one. */
const WITH_MEMBERS = new Set([SyntaxKind.ClassDeclaration, SyntaxKind.InterfaceDeclaration]);

/** Declarations of items that users call or construct. */
const CALLED = new Set([SyntaxKind.ClassDeclaration, SyntaxKind.FunctionDeclaration]);

/** The functions among members, which need a comment each: the name of a field often says all. */
const METHODS = new Set([SyntaxKind.MethodDeclaration, SyntaxKind.MethodSignature]);

/** The text of docs/api.md, and complaints about items without a comment or an example. */
export function apiReference() {
  const api = new API({ cwd: ROOT });
  try {
    const { program, checker } = api.updateSnapshot({ openProjects: [PROJECT] }).getProjects()[0];
    const items = itemsOf(program, checker);
    return { text: pageOf(items), complaints: items.flatMap(undocumented) };
  } finally {
    api.close();
  }
}

/** The exported items, and the interfaces behind them. */
function itemsOf(program, checker) {
  const resolved = (symbol) => (symbol.flags & SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol);
  const exported = ENTRIES.flatMap((entry) =>
    checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(entry))),
  );
  const found = new Map();
  const add = (name, symbol, isExported, isType) => {
    const declarations = symbol.declarations.map((handle) => handle.resolve()).filter(isOurs);
    if (found.has(symbol.id) || declarations.length === 0) return;
    if (!isExported && !declarations.every(({ kind }) => kind === SyntaxKind.InterfaceDeclaration)) return;
    const comment = symbol.getDocumentationComment(checker);
    const union = declarations.map((declaration) => unionOf(checker, symbol, declaration)).find(Boolean);
    found.set(symbol.id, { name, isExported, isType, declarations, comment, union });
  };
  for (const symbol of exported) add(symbol.name, resolved(symbol), true, isTypeOnly(symbol));
  // The list grows while it is gone through.
  for (const { declarations } of found.values()) {
    for (const reference of declarations.flatMap(behind)) {
      const symbol = checker.getSymbolAtLocation(reference);
      if (symbol !== undefined) add(reference.getText(), resolved(symbol), false, true);
    }
  }
  return [...found.values()];
}

/** The values behind an alias of a constant's values, since its declaration names the constant alone. */
function unionOf(checker, symbol, { kind, type }) {
  if (kind !== SyntaxKind.TypeAliasDeclaration || type.kind !== SyntaxKind.IndexedAccessType) return undefined;
  const flags = NodeBuilderFlags.InTypeAlias | NodeBuilderFlags.NoTruncation;
  return checker.typeToString(checker.getDeclaredTypeOfSymbol(symbol), undefined, flags);
}

/** Whether an export is of the type alone, so that no one can construct its class. */
function isTypeOnly({ declarations }) {
  const specifier = declarations[0].resolve();
  return specifier.isTypeOnly === true || specifier.parent?.parent?.isTypeOnly === true;
}

/** The names of the types that an interface or a class extends, or that an alias is made of. */
function behind({ heritageClauses, kind, type }) {
  if (kind !== SyntaxKind.TypeAliasDeclaration) {
    return [...(heritageClauses ?? [])]
      .flatMap(({ types }) => types.map(({ expression }) => namesIn(expression)))
      .flat();
  }
  return namesIn(type);
}

function namesIn(node) {
  if (node.kind === SyntaxKind.Identifier) return [node];
  if (node.kind === SyntaxKind.TypeReference) return [node.typeName, ...(node.typeArguments ?? [])].flatMap(namesIn);
  return [];
}

function pathOf(declaration) {
  const { fileName } = declaration.getSourceFile();
  return fileName.startsWith('file:') ? fileURLToPath(fileName) : fileName;
}

function isOurs(declaration) {
  const path = pathOf(declaration);
  return path.startsWith(DIST + sep) || dirname(path) === ROOT;
}

/** The items without a comment, and their functions without one. */
function undocumented(item) {
  const { name, comment, declarations } = item;
  const functions = declarations
    .filter(({ kind }) => WITH_MEMBERS.has(kind))
    .flatMap(({ members }) => [...members])
    .filter((member) => METHODS.has(member.kind) && isShown(item, member) && !/^\s*\/\*\*/.test(wholeText(member)))
    .filter((member) => !member.name.getText().startsWith('[Symbol.'))
    .map((member) => `${name}.${member.name.getText()}`);
  return [
    ...[...(comment === '' ? [name] : []), ...functions].map((what) => `${what} is public and has no comment`),
    ...(needsExample(item) && exampleOf(item) === undefined ? [`${name} is exported and has no example`] : []),
  ];
}

/** Whether users call or construct an item. */
function needsExample({ isExported, isType, declarations }) {
  return isExported && !isType && declarations.some(({ kind }) => CALLED.has(kind));
}

/** The example in the comment of an item, as Markdown. */
function exampleOf({ declarations }) {
  // The comment of a variable stands before its statement.
  const nodes = declarations.map((node) => (node.kind === SyntaxKind.VariableDeclaration ? node.parent.parent : node));
  const comments = nodes.map((node) => wholeText(node).slice(0, -node.getText().length)).join('');
  const [, lines] = /@example\n([^]*?)\n *\*\//.exec(comments) ?? [];
  return lines?.replaceAll(/^ *\* ?/gm, '');
}

function pageOf(items) {
  const sections = AREAS.map(({ title }) => ({ title, items: items.filter((item) => areaOf(item).title === title) }));
  const shown = sections.filter((section) => section.items.length > 0);
  const anchors = anchorsOf(
    shown.flatMap(({ title, items: ofArea }) => [title, ...sorted(ofArea).map(({ name }) => name)]),
  );
  return `${[
    '# The API',
    'What `boundary-bench` exports, by area, as its declarations say it. `node bench/docs.mjs` writes this ' +
      'page.\n[The library](library.md) says which call is for what.',
    ...shown.map(
      (section) =>
        `**${section.title}:** ${sorted(section.items)
          .map(({ name }) => `[${name}](${anchors.get(name)})`)
          .join(', ')}`,
    ),
    ...shown.flatMap((section) => [`## ${section.title}`, ...sorted(section.items).map(itemText)]),
  ].join('\n\n')}\n`;
}

/** The anchors of headings: those that read the same in lower case are numbered. */
function anchorsOf(titles) {
  const used = new Map();
  return new Map(
    titles.map((title) => {
      const plain = title.toLowerCase();
      const count = used.get(plain) ?? 0;
      used.set(plain, count + 1);
      return [title, `#${plain}${count === 0 ? '' : `-${count}`}`];
    }),
  );
}

function sorted(items) {
  return items.toSorted((a, b) => (a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1));
}

function areaOf({ declarations }) {
  const place = relative(DIST, pathOf(declarations[0])).split(sep).join('/');
  return AREAS.find(({ folders }) => folders.some((folder) => place.startsWith(folder)));
}

function itemText(item) {
  const { name, comment, declarations, isExported, union } = item;
  const part = isExported ? [] : ['It is not exported by its name: other types of this page are made of it.'];
  const code =
    union === undefined
      ? declarations.map((declaration) => declarationText(item, declaration)).join('\n')
      : `type ${name} = ${union.replaceAll('"', "'")};`;
  const more = name === 'RunRequest' ? [optionsTable()] : [];
  const example = exampleOf(item);
  return [
    `### ${name}`,
    proseOf(comment),
    ...part,
    ...(example === undefined ? [] : [example]),
    `\`\`\`ts\n${code}\n\`\`\``,
    ...more,
  ].join('\n\n');
}

/** The options of a run, which the command line has as flags. */
function optionsTable() {
  const options = Object.entries({ ...MATRIX_OPTIONS, ...SAMPLING_OPTIONS, ...FAMILY_OPTIONS });
  const rows = options.map(([name, { flag, help }]) => [name, flag, help]);
  return `With the options of the command line:\n\n${renderMarkdown(tableBlock({ columns: columns('Option', 'Flag', 'What it says'), rows })).trim()}`;
}

/** A comment as Markdown, with one line per paragraph or list item. */
function proseOf(comment) {
  return comment
    .replaceAll('\r', '')
    .replaceAll(/\{@link (\w+)\}/g, '`$1`')
    .replaceAll(/([^\n])\n *(?!\n|[-*|] )/g, '$1 ')
    .trim();
}

/** The declaration without its own comment, and without members that are not for users. */
function declarationText(item, declaration) {
  // A variable is declared by a statement around it.
  const isVariable = declaration.kind === SyntaxKind.VariableDeclaration;
  const text = isVariable ? `const ${declaration.getText()};` : declaration.getText();
  const hidden = WITH_MEMBERS.has(declaration.kind)
    ? [...declaration.members].filter((member) => !isShown(item, member)).map((member) => wholeText(member))
    : [];
  return hidden
    .reduce((shorter, member) => shorter.replace(member, ''), text)
    .replace(/^export /, '')
    .replace(/^declare /, '')
    .replaceAll(/^(?: {4})+/gm, (indent) => ' '.repeat(indent.length / 2));
}

/** Whether a member is for users: it is not private, nor marked as internal, nor the constructor of a class that is exported as a type. */
function isShown({ isType }, member) {
  const text = member.getText();
  if (text.startsWith('#') || /^(?:static )?(?:private|protected) /.test(text)) return false;
  return !wholeText(member).includes('@internal') && !(isType && text.startsWith('constructor('));
}

/** A member with the comment before it. */
function wholeText(member) {
  return member.getSourceFile().text.slice(member.pos, member.end);
}
