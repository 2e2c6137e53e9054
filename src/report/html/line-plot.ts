/** Lines over a size, a load or a row of runs: one a series, named at its end. */
import type { Canvas } from './canvas.js';
import { axisX, axisY } from './frame.js';
import type { Markup } from './markup.js';
import { sumOf } from '../../stats/sum.js';
import { logDomain, logTicks } from './ticks.js';

export interface LinePoint {
  readonly x: number;
  readonly y: number;
  /** The text that the pointer over the point shows. */
  readonly title: string;
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
  /** Places on the x axis that stand out. */
  readonly rules?: readonly { readonly x: number; readonly title: string }[];
}

const HEIGHT = 300;
const MARGINS = { top: 24, bottom: 42, left: 62, right: 155 };

/** The size of a name, the height of its lines, and the width of its characters, on average. */
const NAME_SIZE = 11;
const LINE_HEIGHT = 12;
const CHARACTER_WIDTH = 6;

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
  const yDomain = logDomain(points.map(({ y }) => y));
  const xDomain = xScale === 'log' ? logDomain(points.map(({ x }) => x)) : extentOf(points.map(({ x }) => x));
  const xTicks = plot.xTicks ?? logTicks(xDomain, 3);
  const names = namesApart(series, yDomain, height);
  const rightmost = Math.max(...points.map(({ x }) => x));
  // A line that ends on the right has its name beyond all points. A line that ends before has its name at its end.
  const nameAt = (x: number): number => (x * 2 >= rightmost ? rightmost : x);
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
        Plot.dot(dots, {
          x: 'x',
          y: 'y',
          symbol: 'symbol',
          r: 3.5,
          stroke: 'color',
          fill: ({ isHollow, color }) => (isHollow === true ? 'var(--card)' : color),
          title: 'title',
        }),
        names.map(({ name, color, last, dy }) =>
          Plot.text([last], {
            x: ({ x }) => nameAt(x),
            y: 'y',
            text: () => name,
            fill: color,
            stroke: 'var(--card)',
            strokeWidth: 3,
            textAnchor: 'start',
            dx: NAME_GAP,
            dy,
            fontSize: NAME_SIZE,
            lineHeight: LINE_HEIGHT / NAME_SIZE,
            lineWidth: NAME_WIDTH / NAME_SIZE,
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

/** The height of a name, with the space to the next one. */
function heightOf(name: string): number {
  return Math.ceil((name.length * CHARACTER_WIDTH) / NAME_WIDTH) * LINE_HEIGHT + BETWEEN_NAMES;
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
