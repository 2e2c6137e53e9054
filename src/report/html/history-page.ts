/** The page of `boundary-bench history`: many runs of one machine over time. */
import { groupBy } from '../../compare/cell-groups.js';
import type { CellHistory, RunHistory } from '../../compare/history.js';
import { formatFactorInterval, formatRateOf, atRatio } from '../format.js';
import { commitOf, historyDocument, startText } from '../history-report.js';
import { blocksMarkup } from './blocks.js';
import { type Canvas, loadCanvas } from './canvas.js';
import { namesOf, placeOf } from './contests.js';
import { type LinePoint, linePlot } from './line-plot.js';
import { markup } from './markup.js';
import { type Figure, figures, pageText, sideLegend } from './page.js';
import { factorTick } from './frame.js';
import { SIDE_STYLES } from './side-style.js';

/** The text of the page. */
export async function renderHistoryHtml(history: RunHistory): Promise<string> {
  const canvas = await loadCanvas();
  const { runs, cells } = history;
  const places = groupBy(cells, ({ first }) => JSON.stringify([first.family, placeOf(first)]));
  const all = places.map((ofPlace) => placeFigure(canvas, history, ofPlace));
  const { host } = runs[0]!.run.context;
  const lead = markup`<p class="quiet">${runs.length} runs on ${host.cpu}, ${host.logicalCores} logical cores</p>`;
  const note = 'The rate of each cell divided by its rate in the first run that has it. Above 1, it became faster.';
  return pageText('Boundary Bench: history', lead, [
    {
      id: 'history',
      title: 'Cells over time',
      content: markup`${sideLegend(all, 'inconclusive or equivalent')}<p class="quiet">${note}</p>${figures(all)}`,
    },
    { id: 'runs', title: 'Runs and cells', content: blocksMarkup(historyDocument(history)) },
  ]);
}

function placeFigure(canvas: Canvas, { runs }: RunHistory, cells: readonly CellHistory[]): Figure {
  const title = placeOf(cells[0]!.first);
  const name = namesOf(cells.map(({ first }) => first));
  const titleOf = (at: number, text: string): string => {
    const { context } = runs[at]!.run;
    return `run ${at + 1}, ${startText(context)}, commit ${commitOf(context)}\n${text}`;
  };
  const series = cells.map(({ id, first, steps }) => {
    const start = runs.findIndex(({ run }) => run.records.includes(first));
    const points: LinePoint[] = [
      { x: start + 1, y: 1, title: titleOf(start, `${id}\n${formatRateOf(first)}`), isHollow: true },
      ...steps.map(({ at, record, ...step }) => {
        const isHollow = step.verdict === 'inconclusive' || step.verdict === 'equivalent';
        const text = `${id}\n${formatRateOf(atRatio(record, step.ratio, first))}, ${formatFactorInterval(step)}, ${step.verdict}`;
        return { x: at + 1, y: step.ratio, title: titleOf(at, text), isHollow };
      }),
    ];
    return { name: name(first), ...SIDE_STYLES[first.side], points };
  });
  const picture = linePlot(canvas, {
    label: `${title}: the rate of each cell over its first`,
    xAxis: 'run',
    yAxis: 'rate over the first run',
    xScale: 'point',
    xTicks: runs.map((_, index) => index + 1),
    formatX: (number) => String(number),
    formatY: factorTick,
    series,
  });
  return { title, picture };
}
