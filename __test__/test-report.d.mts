import type words from './needs.json';

/** A test in Rust, or a file of tests in TypeScript, that was skipped. */
export interface SkippedTest {
  readonly need: keyof typeof words;
  readonly why: string;
  readonly crate?: string;
  readonly rust?: string;
  readonly file?: string;
}

export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** The used part of vitest's report. */
export interface VitestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: readonly { readonly status: string; readonly assertionResults: readonly unknown[] }[];
}

export function skippedTests(text: string): SkippedTest[];
export function countsOfCargo(printed: string): Counts;
export function countsOfVitest(report: VitestReport): Counts;
export function report(skipped: readonly SkippedTest[], counts: Counts): string;
