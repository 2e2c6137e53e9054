/** The page of `boundary-bench compare`: the cells of two runs side by side. */
import { groupBy } from '../../compare/cell-groups.js';
import type { CellComparison, RunComparison } from '../../compare/compare-runs.js';
import type { Run } from '../../records/record.js';
import { comparisonDocument, conclusionOf } from '../compare-report.js';
import { formatFactorInterval, formatRateOf, atRatio } from '../format.js';
import { hostLines } from '../host-block.js';
import { blocksMarkup } from './blocks.js';
import { type Canvas, loadCanvas } from './canvas.js';
import { marksBeside, namesOf, placeOf } from './contests.js';
import { markup } from './markup.js';
import { type Figure, figures, listOf, pageText, sideLegend } from './page.js';
import { ratioPlot } from './ratio-plot.js';

/** The text of the page. */
export async function renderComparisonHtml(comparison: RunComparison, before: Run, after: Run): Promise<string> {
  const canvas = await loadCanvas();
  const places = groupBy(comparison.cells, ({ after }) => JSON.stringify([after.family, placeOf(after)]));
  const all = places.map((ofPlace) => placeFigure(canvas, ofPlace));
  const lead = markup`<p>${conclusionOf(comparison)}</p>`;
  return pageText('Boundary Bench: two runs', lead, [
    {
      id: 'cells',
      title: 'After vs. before',
      content: markup`${sideLegend(all, 'inconclusive')}<p class="quiet">The rate of the later run divided by the rate of the earlier run. Above 1, a cell became faster. A bar is the 95% interval.</p>${figures(all)}`,
    },
    { id: 'table', title: 'All cells', content: blocksMarkup(comparisonDocument(comparison)) },
    {
      id: 'host',
      title: 'Hardware and software',
      content: markup`<h3>Before</h3>${listOf(hostLines(before.context))}<h3>After</h3>${listOf(hostLines(after.context))}`,
    },
  ]);
}

function placeFigure(canvas: Canvas, cells: readonly CellComparison[]): Figure {
  const title = placeOf(cells[0]!.after);
  const name = namesOf(cells.map(({ after }) => after));
  const rows = cells.map(({ before, after, regressed, ...judged }) => ({
    ...judged,
    name: name(after),
    side: after.side,
    marks: marksBeside(before, after) + (regressed ? ' ▼' : ''),
    title:
      `${after.id}\n${formatRateOf(before)} before, ${formatRateOf(atRatio(after, judged.ratio, before))} after: ` +
      `${formatFactorInterval(judged)}\n${regressed ? 'regression' : judged.verdict}`,
  }));
  const picture = ratioPlot(canvas, {
    label: `${title}: the rate after over the rate before`,
    axis: 'rate after / before',
    reference: 'var(--ink)',
    rows,
  });
  return { title, note: rows.some(({ marks }) => marks.includes('▼')) ? '▼ a regression' : '', picture };
}
