/** The figures of request work: throughput against the batch and the connections, and latency against the offered load. */
import { completedOf, fastestOf, groupBy, isRequestWork } from '../../compare/cell-groups.js';
import type { CompletedRecord, Run, Side } from '../../records/record.js';
import { rateOf } from '../../stats/summary.js';
import { formatLatency, formatShortRate } from '../format.js';
import type { Canvas } from './canvas.js';
import { type LinePoint, type Series, linePlot } from './line-plot.js';
import { SIDE_STYLES } from './side-style.js';
import { placeOf, titleOf } from './contests.js';
import type { Figure } from './page.js';

/** The latencies of a client at one offered rate, in nanoseconds. */
export interface LoadStep {
  readonly side: Side;
  /** The client's name. */
  readonly name: string;
  /** Requests a second. */
  readonly offered: number;
  readonly p50: number;
  readonly p99: number;
}

export function requestFigures(canvas: Canvas, run: Run): Figure[] {
  const records = completedOf(run.records).filter(isRequestWork);
  const closed = records.filter(({ rate }) => rate === undefined);
  const workloads = groupBy(closed, ({ family, workload, engine, transport }) =>
    JSON.stringify([family, workload, engine, transport]),
  );
  return [
    ...workloads.flatMap((ofWorkload) => [
      ...throughputFigure(canvas, ofWorkload, 'batch', 'connections'),
      ...throughputFigure(canvas, ofWorkload, 'connections', 'batch'),
    ]),
    ...loadFigures(canvas, records),
  ];
}

const AXES = { batch: 'operations of one request', connections: 'connections' } as const;

/** The throughput by one size, at one of the other: with the most connections, or with the smallest batch. */
function throughputFigure(
  canvas: Canvas,
  records: readonly CompletedRecord[],
  by: 'batch' | 'connections',
  at: 'batch' | 'connections',
): Figure[] {
  const sizes = [...new Set(records.map((record) => record[at] ?? 1))];
  const size = at === 'connections' ? Math.max(...sizes) : Math.min(...sizes);
  const shown = records.filter((record) => (record[at] ?? 1) === size);
  const ticks = [...new Set(shown.map((record) => record[by] ?? 1))].toSorted((a, b) => a - b);
  if (ticks.length < 2) return [];
  const series = groupBy(shown, clientOf).map((ofClient): Series => {
    const points = ticks.flatMap((tick) => {
      const best = fastestOf(ofClient.filter((record) => (record[by] ?? 1) === tick));
      return best === undefined ? [] : [{ x: tick, y: rateOf(best), title: titleOf(best, '') }];
    });
    return { name: clientName(ofClient), ...SIDE_STYLES[ofClient[0]!.side], points };
  });
  const where = at === 'connections' ? `${size} connections` : `${size} per request`;
  const { [by]: _, [at]: __, ...first } = shown[0]!;
  const title = `${placeOf(first as CompletedRecord)}: throughput against ${by === 'batch' ? 'batch' : 'connections'}`;
  const note = `${where}; each client at its fastest setting`;
  const picture = linePlot(canvas, {
    label: `${title}, ${where}`,
    xAxis: AXES[by],
    yAxis: 'operations per second',
    xTicks: ticks,
    formatX: String,
    formatY: formatShortRate,
    series,
  });
  return [{ title, note, picture }];
}

/** The client of a cell, with the driver and the lane that set it apart: its settings are compared, and not told apart. */
function clientOf({ side, variant, driver, lane }: CompletedRecord): string {
  return JSON.stringify([side, firstWords(variant), driver, lane === 'batch' ? 'call' : lane]);
}

/** The first word of a variant, and of a crate its name too: the client. */
function firstWords(variant: string): string {
  return /^(?:crate )?[^\s,.(]+/.exec(variant)?.[0] ?? variant;
}

function clientName(records: readonly CompletedRecord[]): string {
  const [first, ...others] = records.map(({ variant }) => variant);
  const isOne = others.every((variant) => variant === first);
  const { side, driver } = records[0]!;
  return `${side} · ${isOne ? first : firstWords(first!)}${isOne || driver === undefined ? '' : `, ${driver}`}`;
}

function loadFigures(canvas: Canvas, records: readonly CompletedRecord[]): Figure[] {
  const open = records.filter(({ rate, latency }) => rate !== undefined && latency !== undefined);
  const workloads = groupBy(open, ({ family, workload, engine, transport, connections, batch }) =>
    JSON.stringify([family, workload, engine, transport, connections, batch]),
  );
  return workloads.flatMap((ofWorkload) => {
    const { rate: _, ...place } = ofWorkload[0]!;
    const steps = ofWorkload.map(({ side, variant, rate, latency }) => {
      return { side, name: variant, offered: rate!, p50: latency!.p50, p99: latency!.p99 };
    });
    return loadFigure(canvas, placeOf(place), steps);
  });
}

/** The latencies of each client at the rates that it was offered. Nothing for a single rate. */
export function loadFigure(canvas: Canvas, place: string, steps: readonly LoadStep[]): Figure[] {
  if (new Set(steps.map(({ offered }) => offered)).size < 2) return [];
  const series = groupBy(steps, ({ side, name }) => JSON.stringify([side, name])).flatMap((ofClient): Series[] => {
    const { side, name } = ofClient[0]!;
    const sorted = ofClient.toSorted((a, b) => a.offered - b.offered);
    const pointsOf = (which: 'p50' | 'p99'): LinePoint[] =>
      sorted.map((step) => {
        const text = `${formatShortRate(step.offered)} offered: ${which} ${formatLatency(step[which])}`;
        return { x: step.offered, y: step[which], title: `${side} · ${name}\n${text}` };
      });
    return [
      { name: `${side} · ${name}, p50`, ...SIDE_STYLES[side], points: pointsOf('p50') },
      { name: 'p99', ...SIDE_STYLES[side], isDashed: true, points: pointsOf('p99') },
    ];
  });
  const title = `${place}: latency against offered load`;
  const picture = linePlot(canvas, {
    label: title,
    xAxis: 'requests offered',
    yAxis: 'latency',
    formatX: formatShortRate,
    formatY: formatLatency,
    series,
  });
  return [{ title, note: 'solid: the median, dashed: the p99', picture }];
}
