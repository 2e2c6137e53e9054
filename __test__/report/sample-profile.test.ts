import { parseHTML } from 'linkedom';
import { expect, test } from 'vitest';
import type { CompletedRecord, Sample } from '../../src/records/record.js';
import { renderRunHtml } from '../../src/report/html/run-page.js';
import { profileOf, warmUpText } from '../../src/report/html/sample-plots.js';
import { completed, runOf } from '../records/sample-run.js';

/** A cell of several processes, each with its samples in order. */
function cellOf(variant: string, ...processes: readonly (readonly number[])[]): CompletedRecord {
  const samples = processes.flatMap((times, index) => times.map((seconds): Sample => ({ fork: index + 1, seconds })));
  const record = completed(
    { side: 'js', lane: variant, variant },
    samples.map(({ seconds }) => seconds),
  );
  return { ...record, samples };
}

const warming = cellOf('warming', [1.5, 1.1, 1], [1.3, 1.2, 1], [1.2, 1.1, 1]);
const steady = cellOf('steady', [1.02, 1, 1.01], [1, 1.01, 1], [1, 1, 1]);

test('the profile is the median over the processes, by the index, relative to the fastest', () => {
  expect(profileOf(warming)).toEqual([1.3, 1.1, 1]);
  // The fourth sample of one of three processes says nothing of the others.
  expect(profileOf(cellOf('longer', [2, 1, 1, 9], [2, 1], [2, 1]))).toEqual([2, 1]);
  expect(profileOf(cellOf('single', [1], [2]))).toEqual([]);
});

test('the page of a run says in how many cells warm-up is left, and shows the profile', async () => {
  expect(warmUpText([warming, steady])).toMatch(
    /^In 1 of 2 cells .* \(30% at most\): warm-up is left in their samples\.$/,
  );
  expect(warmUpText([steady])).toMatch(/^In 0 of 1 cells .* no warm-up is seen in the samples\.$/);
  expect(warmUpText([cellOf('single', [1], [2])])).toBeUndefined();
  const { document } = parseHTML(await renderRunHtml(runOf([warming, steady])));
  const trust = document.querySelector('#trust')!;
  expect(trust.textContent).toContain(warmUpText([warming, steady]));
  expect(trust.textContent).toContain('sample 1 of a process: 1.3× the fastest');
});
