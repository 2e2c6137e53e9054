/** Lines over a size, a load or a row of runs: one a series, named at its end. */
import type { Canvas } from './canvas.js';
import { axisX, axisY, logDomain, logTicks } from './frame.js';
import type { Markup } from './markup.js';
import { sumOf } from '../../stats/sum.js';

export interface LinePoint {
  readonly x: number;
  readonly y: number;
  /** The text that the pointer over the point shows. */
  readonly title: string;
  /** The interval of `y`, as a line through the point. */
  readonly interval?: readonly [number, number];
  /** Whether the point is drawn as a ring, like everything inconclusive. */
  readonly isHollow?: boolean;
}

export interface Series {
  readonly name: string;
  readonly color: string;
  readonly symbol: 'diamond' | 'circle' | 'square';
  readonly isDashed?: boolean;
  /** The points of the line, from left to right. */
  readonly points: readonly LinePoint[];
  /** The dots, if they are other than the points of the line. */
  readonly dots?: readonly LinePoint[];
}

export interface LinePlot {
  readonly label: string;
  readonly xAxis: string;
  readonly yAxis: string;
  /** The ticks of the x axis. Absent: round values of a log scale. A `run` has equal steps. */
  readonly xTicks?: readonly number[];
  readonly xScale?: 'log' | 'point';
  readonly formatX: (value: number) => string;
  readonly formatY: (value: number) => string;
  readonly series: readonly Series[];
  /** Places on the x axis that stand out, with the band within which each lies. */
  readonly rules?: readonly { readonly x: number; readonly title: string; readonly band?: readonly [number, number] }[];
}

const HEIGHT = 300;
const MARGINS = { top: 24, bottom: 42, left: 62, right: 155 };

/** The size of a name, the height of its lines, and the width of its characters, on average, in a wide font. */
const NAME_SIZE = 11;
const LINE_HEIGHT = 12;
const CHARACTER_WIDTH = 6.4;

/** The distance of a name from the end of its line, and the width at which it goes on in the next line. */
const NAME_GAP = 8;
const NAME_WIDTH = MARGINS.right - NAME_GAP;

/** The space between two names. */
const BETWEEN_NAMES = 2;

export function linePlot(canvas: Canvas, plot: LinePlot): Markup {
  const { Plot } = canvas;
  const { label, xAxis, yAxis, formatX, formatY, xScale = 'log', rules = [] } = plot;
  const series = plot.series.map(onScale).filter(({ points }) => points.length > 0);
  const namesHeight = sumOf(series.map(({ name }) => heightOf(name)));
  const height = Math.max(HEIGHT, namesHeight + MARGINS.top + MARGINS.bottom);
  const points = series.flatMap(({ points, dots }) => [...points, ...(dots ?? [])]);
  const dots = series.flatMap(({ points, dots = points, color, symbol }) =>
    dots.map((dot) => ({ color, symbol, ...dot })),
  );
  const intervals = dots.flatMap(({ x, interval, color }) => (interval === undefined ? [] : [{ x, interval, color }]));
  const bands = rules.flatMap(({ band }) => (band === undefined ? [] : [band]));
  const yDomain = logDomain([...points.map(({ y }) => y), ...intervals.flatMap(({ interval }) => interval)]);
  const xDomain = xScale === 'log' ? logDomain(points.map(({ x }) => x)) : extentOf(points.map(({ x }) => x));
  const xTicks = plot.xTicks ?? logTicks(xDomain, 3);
  const names = namesApart(series, yDomain, height);
  const rightmost = Math.max(...points.map(({ x }) => x));
  return canvas.draw({
    label,
    options: {
      height,
      marginTop: MARGINS.top,
      marginBottom: MARGINS.bottom,
      marginLeft: MARGINS.left,
      marginRight: MARGINS.right,
      x: { type: xScale === 'log' ? 'log' : 'linear', domain: xDomain },
      y: { type: 'log', domain: yDomain },
      marks: [
        Plot.rectX(bands, { x1: '0', x2: '1', fill: 'var(--grid)', fillOpacity: 0.6 }),
        Plot.gridY(logTicks(yDomain), { stroke: 'var(--grid)', strokeOpacity: 1 }),
        axisY(Plot, logTicks(yDomain), formatY, yAxis),
        axisX(Plot, xTicks, formatX, xAxis),
        series.map(({ name, points, color, isDashed = false }) =>
          Plot.line(points, {
            x: 'x',
            y: 'y',
            stroke: color,
            strokeWidth: 1.75,
            title: () => name,
            ...(isDashed ? { strokeDasharray: '5 3' } : {}),
          }),
        ),
        Plot.ruleX(rules, { x: 'x', stroke: 'var(--ink)', strokeDasharray: '2 3', title: 'title' }),
        Plot.link(intervals, {
          x: 'x',
          y1: ({ interval: [low] }) => low,
          y2: ({ interval: [, high] }) => high,
          stroke: 'color',
        }),
        Plot.dot(dots, {
          x: 'x',
          y: 'y',
          symbol: 'symbol',
          r: 3.5,
          stroke: 'color',
          fill: ({ isHollow, color }) => (isHollow === true ? 'var(--card)' : color),
          title: 'title',
        }),
        // A name stands beyond all points, where no line is. A thin line leads to it from a line that ends before.
        names.map(({ color, last }) =>
          Plot.link(last.x < rightmost ? [last] : [], {
            x1: 'x',
            x2: () => rightmost,
            y: 'y',
            stroke: color,
            strokeWidth: 0.75,
            strokeDasharray: '1 3',
          }),
        ),
        names.map(({ name, color, last, dy }) =>
          Plot.text([last], {
            x: () => rightmost,
            y: 'y',
            text: () => linesOf(name).join('\n'),
            fill: color,
            stroke: 'var(--card)',
            strokeWidth: 3,
            textAnchor: 'start',
            dx: NAME_GAP,
            dy,
            fontSize: NAME_SIZE,
            lineHeight: LINE_HEIGHT / NAME_SIZE,
          }),
        ),
      ],
    },
  });
}

/** A series without what has no place on a log scale. */
function onScale({ points, dots, ...rest }: Series): Series {
  const isPositive = ({ y }: LinePoint): boolean => y > 0 && Number.isFinite(y);
  return { ...rest, points: points.filter(isPositive), ...(dots && { dots: dots.filter(isPositive) }) };
}

function extentOf(values: readonly number[]): [number, number] {
  return [Math.min(...values), Math.max(...values)];
}

/** The lines of a name: it is broken at spaces, before the dot of a method, and wherever else it must. */
function linesOf(name: string): string[] {
  const most = Math.floor(NAME_WIDTH / CHARACTER_WIDTH);
  const pieces = name
    .split(/(?<= )|(?=\.[a-z])/)
    .flatMap((piece) => piece.match(new RegExp(`.{1,${most}}`, 'gu')) ?? []);
  const lines: string[] = [];
  for (const piece of pieces) {
    const last = lines.at(-1);
    if (last !== undefined && (last + piece).trimEnd().length <= most) lines[lines.length - 1] = last + piece;
    else lines.push(piece);
  }
  return lines.map((line) => line.trimEnd());
}

/** The height of a name, with the space to the next one. */
function heightOf(name: string): number {
  return linesOf(name).length * LINE_HEIGHT + BETWEEN_NAMES;
}

/** The names at the ends of the lines, moved up and down from there so far that none covers another. */
function namesApart(series: readonly Series[], [low, high]: readonly [number, number], height: number) {
  const [top, bottom] = [MARGINS.top, height - MARGINS.bottom];
  const placeOf = (y: number): number => bottom - ((bottom - top) * Math.log(y / low)) / Math.log(high / low);
  const names = series
    .map(({ name, color, points }) => {
      const last = points.at(-1)!;
      return { name, color, last, wanted: placeOf(last.y), half: heightOf(name) / 2 };
    })
    .toSorted((a, b) => a.wanted - b.wanted);
  let lowest = top - (names[0]?.half ?? 0);
  const down = names.map(({ wanted, half }) => {
    const place = Math.max(wanted, lowest + half);
    lowest = place + half;
    return place;
  });
  // Names that were pushed out below go up again, with the names above them.
  let highest = bottom + (names.at(-1)?.half ?? 0);
  const places = names.map(() => 0);
  for (let index = names.length - 1; index >= 0; index -= 1) {
    const { half } = names[index]!;
    places[index] = Math.min(down[index]!, highest - half);
    highest = places[index]! - half;
  }
  return names.map((name, index) => ({ ...name, dy: places[index]! - name.wanted }));
}
