import type words from './needs.json';

/** A test in Rust, or a file of tests in TypeScript, that was skipped. */
export interface SkippedTest {
  readonly need: keyof typeof words;
  readonly why: string;
  readonly crate?: string;
  readonly rust?: string;
  readonly file?: string;
  readonly changesFile?: boolean;
}

export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

export interface Failure {
  readonly test: string;
  readonly why: string;
}

/** The full names of the tests that passed in a file. */
export interface PassedTests {
  readonly file: string;
  readonly passed: readonly string[];
}

export function skippedTests(text: string): SkippedTest[];
export function passedTests(text: string): Readonly<Record<string, readonly string[]>>;
export function countsOfCargo(printed: string): Counts;
export function failuresOfCargo(printed: string): readonly Failure[];
export function report(skipped: readonly SkippedTest[], failures: readonly Failure[], counts: Counts): string;
