/** vitest's reporter for `run-tests.mjs`. It writes the result of a run, as JSON, to the file that `BOUNDARY_BENCH_RESULT` names. */
import { writeFileSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';
import type { Reporter, SerializedError, TestModule } from 'vitest/node';

import type { Counts, Failure, PassedTests } from './test-report.mjs';

export interface VitestResult {
  readonly counts: Counts;
  readonly failures: readonly Failure[];
  readonly tests: readonly PassedTests[];
}

export default class implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const result: VitestResult = resultOf(modules, unhandled);
    writeFileSync(process.env['BOUNDARY_BENCH_RESULT']!, JSON.stringify(result));
  }
}

function resultOf(modules: readonly TestModule[], unhandled: readonly SerializedError[]): VitestResult {
  const tests = modules.flatMap((module) => [...module.children.allTests()]);
  const count = (state: string): number => tests.filter((test) => test.result().state === state).length;
  const failures = [
    ...modules.flatMap(failuresOf),
    ...(unhandled.length === 0 ? [] : [failure('vitest, outside of a test', unhandled)]),
  ];
  return {
    counts: { passed: count('passed'), failed: failures.length, skipped: count('skipped') },
    failures,
    tests: modules.map(passedOf),
  };
}

/** The failed tests of a file, its failed hooks, and why the file could not be loaded. */
function failuresOf(module: TestModule): readonly Failure[] {
  const suites = [...module.children.allSuites()].map(
    (suite) => [`${module.moduleId}: ${suite.fullName}`, suite.errors()] as const,
  );
  const tests = [...module.children.allTests()].map(
    (test) => [`${module.moduleId}: ${test.fullName}`, test.result().errors ?? []] as const,
  );
  return [[module.moduleId, module.errors()] as const, ...suites, ...tests].flatMap(([name, errors]) =>
    errors.length === 0 ? [] : [failure(name, errors)],
  );
}

function failure(test: string, errors: readonly (SerializedError & { readonly diff?: string })[]): Failure {
  const lines = errors.flatMap(({ message, stack, diff }) => [stack ?? message, ...(diff === undefined ? [] : [diff])]);
  return { test, why: stripVTControlCharacters(lines.join('\n')) };
}

/** The full names of the tests of a file that passed. A name that another test of the file has is none. */
function passedOf(module: TestModule): PassedTests {
  const tests = [...module.children.allTests()].map((test) => [test.fullName, test.result().state] as const);
  const others = new Set(tests.flatMap(([name, state]) => (state === 'passed' ? [] : [name])));
  return { file: module.moduleId, passed: tests.map(([name]) => name).filter((name) => !others.has(name)) };
}
