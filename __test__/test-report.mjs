// The report at the end of a run of the tests: what was not tested, how it can be tested, what failed, and how many tests passed.
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

/** The tests that failed, as cargo has printed them: their names, and what they printed. */
export function failuresOfCargo(printed) {
  const failures = /^---- (.+) stdout ----\n([^]*?)(?=\n---- .+ stdout ----$|\n\nfailures:$)/gm;
  return [...printed.matchAll(failures)].map(([, test, why]) => ({ test, why }));
}

/** The most lines of a failure that the report repeats. */
const LINES_OF_FAILURE = 15;

/** The last lines of a run. They repeat the failures, since often the end of a long output is all that is kept. */
export function report(skipped, failures, { passed, failed, skipped: count }) {
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
  for (const { test, why } of failures) {
    const told = why.trim().split('\n');
    const more = told.length - LINES_OF_FAILURE;
    lines.push(`FAILED: ${test}`, ...told.slice(0, LINES_OF_FAILURE).map((line) => `  ${line}`));
    if (more > 0) lines.push(`  (${more} more lines are above)`);
  }
  return [...lines, `${passed} passed, ${failed} failed, ${count} skipped`].join('\n');
}
