// The report at the end of a run of the tests: what was not tested, how it can be tested, and how many tests passed.
import { needs } from './needs.mjs';

/** The skipped tests in the text of BOUNDARY_BENCH_SKIPPED's file, each once. */
export function skippedTests(text) {
  return linesOf(text).filter((line) => 'need' in line);
}

/**
 * The tests that passed in files where others were skipped: their full names, by file. Left out are the files in which a missing need
 * changes what the tests expect.
 */
export function passedTests(text) {
  const lines = linesOf(text);
  const changed = new Set(lines.flatMap(({ file, changesFile }) => (changesFile ? [file] : [])));
  return Object.fromEntries(
    lines.flatMap(({ file, passed }) => (passed === undefined || changed.has(file) ? [] : [[file, passed]])),
  );
}

function linesOf(text) {
  return [...new Set(text.split('\n').filter((line) => line !== ''))].map((line) => JSON.parse(line));
}

/** The full names of the tests that passed in each file of vitest's report. A name that another test of the file has is none. */
export function passedOfVitest({ testResults }) {
  return testResults.map(({ name, assertionResults }) => {
    const others = new Set(assertionResults.flatMap(({ fullName, status }) => (status === 'passed' ? [] : [fullName])));
    const passed = assertionResults.map(({ fullName }) => fullName).filter((fullName) => !others.has(fullName));
    return { file: name, passed };
  });
}

/**
 * The numbers of tests that passed, failed and were skipped, as cargo has printed them. Tests that another test runs are not
 * counted.
 */
export function countsOfCargo(printed) {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const [, passed, failed] of printed.matchAll(/^test result: \w+\. (\d+) passed; (\d+) failed;/gm)) {
    counts.passed += Number(passed);
    counts.failed += Number(failed);
  }
  return counts;
}

/** The same numbers of vitest's report in JSON. A file that can't be loaded is a failed test. */
export function countsOfVitest({ numPassedTests, numFailedTests, numPendingTests, numTodoTests, testResults }) {
  const broken = testResults.filter(
    ({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0,
  );
  return {
    passed: numPassedTests,
    failed: numFailedTests + broken.length,
    skipped: numPendingTests + numTodoTests,
  };
}

/** The last lines of a run. */
export function report(skipped, { passed, failed, skipped: count }) {
  const lines = Object.entries(needs).flatMap(([word, { what, get }]) => {
    const tests = skipped.filter(({ need }) => need === word);
    if (tests.length === 0) return [];
    const rust = new Set(tests.filter((test) => 'rust' in test).map((test) => `${test.crate} ${test.rust}`)).size;
    const files = new Set(tests.filter((test) => 'file' in test).map(({ file }) => file)).size;
    const counts = [
      ...(rust === 0 ? [] : [`${rust} ${rust === 1 ? 'test' : 'tests'} in Rust`]),
      ...(files === 0 ? [] : [`tests of ${files} ${files === 1 ? 'file' : 'files'} in TypeScript`]),
    ];
    return [`NOT TESTED: ${what} (${word}): ${counts.join(', ')}: ${tests[0].why}`, `  get it by: ${get}`];
  });
  return [...lines, `${passed} passed, ${failed} failed, ${count} skipped`].join('\n');
}
