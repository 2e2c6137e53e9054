import { expect, test } from 'vitest';
import { renderRunMarkdown, renderRunTerminal } from '../../src/report/run-report.js';
import { sampleRun } from '../records/sample-run.js';

test('a whole run as Markdown', async () => {
  await expect(renderRunMarkdown(sampleRun())).toMatchFileSnapshot('../fixtures/run.md');
});

test('a terminal shows the same, without where the time went', () => {
  const run = sampleRun();
  const markdown = renderRunMarkdown(run).replaceAll(/^### Where the time went\n[^#]*/gm, '');
  const terminal = renderRunTerminal(run);
  expect(wordsOf(terminal)).toEqual(wordsOf(markdown));
  expect(terminal).toMatch(/^Boundary Bench\n=+\n\nHardware \/ software\n-+\n\n- OS: /);
  expect(terminal).toMatch(
    /^query\.full_scan  best: columnar  sync column slices — 167 M\/s  napi · .*2\.0× \(1\.9–2\.1\)$/m,
  );
});

/** The words of a report, in their order, without what makes them a table, a list or a heading. */
function wordsOf(text: string): string[] {
  const withoutRules = text.replaceAll(/^[-:=| ─]+$/gm, '');
  return withoutRules.split(/[\s|\\]+/).filter((word) => !/^(|#+|-)$/.test(word));
}
