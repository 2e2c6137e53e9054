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

/** The used part of vitest's report. */
export interface VitestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: readonly FileReport[];
}

export interface FileReport {
  readonly name: string;
  readonly status: string;
  readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
}

export function skippedTests(text: string): SkippedTest[];
export function passedTests(text: string): Readonly<Record<string, readonly string[]>>;
export function passedOfVitest(
  report: Pick<VitestReport, 'testResults'>,
): readonly { readonly file: string; readonly passed: readonly string[] }[];
export function countsOfCargo(printed: string): Counts;
export function countsOfVitest(report: VitestReport): Counts;
export function report(skipped: readonly SkippedTest[], counts: Counts): string;
