/**
 * The parts of the time of a row, an operation or a call. Stacked bars show what the samples measured. Below them is
 * the part of the elapsed time that crossing and JavaScript are estimated to take.
 */
import { medianOf, processCpuOf, serverCpuOf } from '../../stats/summary.js';
import { median } from '../../stats/quantile.js';
import { type CompletedRecord, type Sample, itemsOf } from '../../records/record.js';
import { type CrossingShareOf, crossingText } from '../resource-tables.js';
import { formatDuration } from '../format.js';
import { oneUnitOf } from '../labels.js';
import type { Canvas } from './canvas.js';
import { framed, titlesAt } from './frame.js';
import type { Markup } from './markup.js';

/** The parts of a bar in their order. Times of the CPU are of all cores, so that a bar may be longer than the elapsed time. */
const PARTS: readonly {
  readonly name: string;
  readonly color: string;
  readonly secondsOf: (sample: Sample) => number | undefined;
}[] = [
  { name: 'encoding, before the clock', color: 'var(--encode)', secondsOf: ({ encodeSeconds }) => encodeSeconds },
  {
    name: "CPU of JavaScript's thread",
    color: 'var(--thread)',
    secondsOf: ({ mainThreadCpuSeconds }) => mainThreadCpuSeconds,
  },
  { name: 'CPU of other threads', color: 'var(--others)', secondsOf: otherThreads },
  { name: 'CPU of the server', color: 'var(--server)', secondsOf: serverCpuOf },
  { name: 'decoding, after the clock', color: 'var(--decode)', secondsOf: ({ decodeSeconds }) => decodeSeconds },
];

const ROW_HEIGHT = 36;
const NAME_AT = 0.28;
const BAR = { from: 0.5, until: 0.84 };
const GARBAGE_FROM = 0.74;
const CROSSING = { from: 0.88, until: 0.98 };

/** The parts that some of these cells have, with their colours. */
export function partsOf(records: readonly CompletedRecord[]): { readonly name: string; readonly color: string }[] {
  return PARTS.filter(({ secondsOf }) => records.some((record) => (medianOf(record, secondsOf) ?? 0) > 0));
}

/** Whether the samples of a cell tell the parts of its time. Samples of compact files do not. */
export function hasParts(record: CompletedRecord): boolean {
  return medianOf(record, processCpuOf) !== undefined && itemsOf(record) > 0;
}

/** The seconds that a sample spent on collecting garbage: pauses of JavaScript's thread. */
export function garbageOf(record: CompletedRecord): number {
  return medianOf(record, ({ gcSeconds }) => gcSeconds) ?? 0;
}

export function timePlot(
  canvas: Canvas,
  records: readonly CompletedRecord[],
  nameOf: (record: CompletedRecord) => string,
  label: string,
  shareOf: CrossingShareOf,
): Markup {
  const { Plot } = canvas;
  const bars = records.map((record, index) => {
    const { segments, gc, elapsed, end } = extentOf(record, index);
    const share = shareOf(record);
    const title = [
      record.id,
      `elapsed: ${formatDuration(elapsed)}`,
      ...segments.map(({ name, from, until }) => `${name}: ${formatDuration(until - from)}`),
      ...(gc.until > gc.from ? [`collecting garbage: ${formatDuration(gc.until - gc.from)}`] : []),
      ...(share === undefined ? [] : [`crossing and JavaScript, beyond ${share.rust.id}: ${crossingText(share)}`]),
    ].join('\n');
    return { index, name: nameOf(record), segments, elapsed, end, share, title, gc };
  });
  const most = scaleEnd(bars.map(({ end }) => end));
  const longer = bars.filter(({ end }) => end > most);
  // Bars beyond the scale end there.
  const cut =
    <Item>(of: (item: Item) => number) =>
    (item: Item): number =>
      Math.min(of(item), most);
  const frame = {
    rows: records.length,
    rowHeight: ROW_HEIGHT,
    axis: `time per ${oneUnitOf(records[0]!)}`,
    tickFormat: (seconds: number) => (seconds === 0 ? '0' : formatDuration(seconds)),
    x: { type: 'linear', domain: [0, most * (longer.length > 0 ? 1.1 : 1.02)] },
  } as const;
  const segments = bars.flatMap(({ segments, title }) => segments.map((segment) => ({ ...segment, title })));
  const crossing = bars.flatMap(({ share, elapsed, ...bar }) => {
    // An inconclusive share may be less than nothing: Rust took longer then, by chance.
    return share === undefined || share.part <= 0 ? [] : [{ ...bar, elapsed, share, from: elapsed * (1 - share.part) }];
  });
  const collecting = bars.filter(({ gc }) => gc.until > gc.from);
  return canvas.draw({
    label,
    options: framed(canvas, frame, [
      Plot.rect(segments, {
        x1: cut(({ from }) => from),
        x2: cut(({ until }) => until),
        y1: ({ index }) => index + BAR.from,
        y2: ({ index }) => index + BAR.until,
        fill: 'color',
        title: 'title',
      }),
      Plot.rect(collecting, {
        x1: cut(({ gc }) => gc.from),
        x2: cut(({ gc }) => gc.until),
        y1: ({ index }) => index + GARBAGE_FROM,
        y2: ({ index }) => index + BAR.until,
        fill: 'var(--bad)',
        title: 'title',
      }),
      Plot.rect(crossing, {
        x1: cut(({ from }) => from),
        x2: cut(({ elapsed }) => elapsed),
        y1: ({ index }) => index + CROSSING.from,
        y2: ({ index }) => index + CROSSING.until,
        fill: 'var(--napi)',
        fillOpacity: ({ share }) => (share.isOpen ? 0 : 1),
        stroke: 'var(--napi)',
        title: 'title',
      }),
      Plot.text(longer, {
        x: () => most,
        y: ({ index }) => index + (BAR.from + BAR.until) / 2,
        dx: 2,
        text: () => CUT,
        textAnchor: 'start',
        fill: 'var(--ink)',
        title: 'title',
      }),
      Plot.link(
        bars.filter(({ elapsed }) => elapsed <= most),
        {
          x1: 'elapsed',
          x2: 'elapsed',
          y1: ({ index }) => index + BAR.from - 0.06,
          y2: ({ index }) => index + BAR.until + 0.06,
          stroke: 'var(--ink)',
          strokeWidth: 2.5,
          title: 'title',
        },
      ),
      titlesAt(canvas, bars, { at: NAME_AT, figureOf: ({ elapsed }) => formatDuration(elapsed), title: 'title' }),
    ]),
  });
}

/** The sign at a bar that is longer than the scale. */
export const CUT = '»';

/** How many times as long as the median bar a bar may be before the scale no longer follows it. */
const MOST_OF_MEDIAN = 6;

/** The end of the scale: the longest bar that is not out of proportion to the others. */
function scaleEnd(ends: readonly number[]): number {
  const limit = MOST_OF_MEDIAN * median(ends);
  return Math.max(...ends.filter((end) => end <= limit));
}

/** Whether a bar of these cells is longer than their scale. */
export function hasCutBars(records: readonly CompletedRecord[]): boolean {
  const ends = records.map((record) => extentOf(record, 0).end);
  return Math.max(...ends) > scaleEnd(ends);
}

/** All that the bar of a cell shows, and its end, in seconds per row. */
function extentOf(record: CompletedRecord, index: number) {
  const segments = segmentsOf(record, index);
  const gc = collectingOf(record, segments);
  const elapsed = record.summary.medianSeconds / itemsOf(record);
  return { segments, gc, elapsed, end: Math.max(elapsed, segments.at(-1)?.until ?? 0, gc.until) };
}

/** The time of collecting garbage, from the begin of the part of JavaScript's thread. */
function collectingOf(record: CompletedRecord, segments: ReturnType<typeof segmentsOf>) {
  const from = segments.find(({ name }) => name === PARTS[1]!.name)?.from ?? 0;
  return { from, until: from + garbageOf(record) / itemsOf(record) };
}

/** The parts of a bar one after the other, in seconds per row. */
function segmentsOf(record: CompletedRecord, index: number) {
  let from = 0;
  return PARTS.flatMap(({ name, color, secondsOf }) => {
    const seconds = (medianOf(record, secondsOf) ?? 0) / itemsOf(record);
    if (seconds <= 0) return [];
    const segment = { index, name, color, from, until: from + seconds };
    from = segment.until;
    return [segment];
  });
}

/** The process without the thread that runs JavaScript, if that was read apart. The clocks of the two tick differently. */
function otherThreads(sample: Sample): number | undefined {
  const all = processCpuOf(sample);
  return all === undefined ? undefined : Math.max(0, all - (sample.mainThreadCpuSeconds ?? 0));
}
