/** vitest's runner without the tests that passed in an earlier run, whose full names `BOUNDARY_BENCH_PASSED` names a file of. */
import { readFileSync } from 'node:fs';
import { type RunnerTestFile, type RunnerTestSuite, TestRunner } from 'vitest';

const passed = JSON.parse(readFileSync(process.env['BOUNDARY_BENCH_PASSED']!, 'utf8')) as Record<string, string[]>;

export default class extends TestRunner {
  onCollected(files: readonly RunnerTestFile[]): void {
    for (const file of files) leaveOut(file, '', new Set(passed[file.filepath]));
  }
}

/** Leaves out the tests of these full names, and the suites that have no others, whose hooks would do their work for nobody. */
function leaveOut(suite: RunnerTestSuite, prefix: string, names: ReadonlySet<string>): void {
  for (const task of suite.tasks) {
    const name = prefix + task.name;
    if (task.type === 'suite') leaveOut(task, `${name} > `, names);
    else if (names.has(name)) task.mode = 'skip';
  }
  if (suite.tasks.every(({ mode }) => mode === 'skip')) suite.mode = 'skip';
}
