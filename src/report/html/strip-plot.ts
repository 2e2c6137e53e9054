/** The strip plot of samples: each sample of each cell relative to the cell's median, its processes below each other. */
import { groupBy } from '../../compare/cell-groups.js';
import type { CompletedRecord } from '../../records/record.js';
import { median } from '../../stats/quantile.js';
import { formatDuration } from '../format.js';
import type { Canvas } from './canvas.js';
import { framed, ratioFrame, titlesAt } from './frame.js';
import type { Markup } from './markup.js';
import { SIDE_STYLES } from './side-style.js';

const ROW_HEIGHT = 40;
const LEAST_DOMAIN = [0.9, 1.1] as const;

/** The place of the name in a row, and the part below it that the processes share. */
const NAME_AT = 0.22;
const FROM = 0.42;
const UNTIL = 0.98;

export function stripPlot(
  canvas: Canvas,
  records: readonly CompletedRecord[],
  nameOf: (record: CompletedRecord) => string,
  label: string,
): Markup {
  const { Plot } = canvas;
  const names = records.map((record, index) => ({ name: nameOf(record), index }));
  const processes = records.flatMap(processesOf);
  const samples = processes.flatMap(({ parts, ...process }) => parts.map((part) => ({ ...process, part })));
  const frame = ratioFrame(
    { rows: records.length, rowHeight: ROW_HEIGHT, axis: 'time of a sample / median of its cell' },
    samples.map(({ part }) => part),
    LEAST_DOMAIN,
  );
  return canvas.draw({
    label,
    options: framed(canvas, frame, [
      Plot.ruleX([1], { stroke: 'var(--quiet)' }),
      Plot.dot(samples, { x: 'part', y: 'y', r: 1.8, fill: 'color', fillOpacity: 0.55 }),
      Plot.dot(processes, { x: 'median', y: 'y', symbol: 'times', r: 2.5, stroke: 'var(--ink)', title: 'title' }),
      titlesAt(canvas, names, { at: NAME_AT }),
    ]),
  });
}

/** The processes of a cell with their places below each other, and the parts of the cell's median that their samples took. */
function processesOf({ id, samples, summary, side }: CompletedRecord, index: number) {
  const forks = groupBy(samples, ({ fork }) => String(fork));
  return forks.map((ofFork, place) => {
    const own = median(ofFork.map(({ seconds }) => seconds));
    const number = ofFork[0]?.fork;
    return {
      y: index + FROM + ((place + 0.5) / forks.length) * (UNTIL - FROM),
      color: SIDE_STYLES[side].color,
      median: own / summary.medianSeconds,
      title: `${id}\nprocess ${number ?? 'of the run'}: ${ofFork.length} samples, median ${formatDuration(own)}`,
      parts: ofFork.map(({ seconds }) => seconds / summary.medianSeconds),
    };
  });
}
