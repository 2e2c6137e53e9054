/** A flame graph: each call as wide as its part of the time, on the call that made it. */
import { BoundaryError } from '../../errors.js';
import { type Call, type Stack, callTree } from '../../profile/stacks.js';
import { formatPercent } from '../format.js';
import { type Canvas, loadCanvas } from './canvas.js';
import type { Markup } from './markup.js';

const WIDTH = 1200;
const ROW = 16;

/** The part of the time below which a call is not drawn. */
const LEAST_PART = 0.001;

/** The width of a character of a name, at its size. */
const CHARACTER = 5.6;
const FONT_SIZE = 10;

interface Box {
  readonly name: string;
  readonly from: number;
  readonly to: number;
  readonly depth: number;
}

/** The flame graph of stacks, as the text of an SVG file. Throws `BB_PROFILE` if there are none. */
export async function flameGraphText(label: string, stacks: readonly Stack[]): Promise<string> {
  if (stacks.length === 0) throw new BoundaryError('BB_PROFILE', 'the profiler saw no timed work');
  // Plot's document escapes neither in attributes, and XML needs both.
  const name = label.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return drawn(await loadCanvas(), `${name}: the time of each call`, stacks).text;
}

function drawn(canvas: Canvas, label: string, stacks: readonly Stack[]): Markup {
  const { Plot } = canvas;
  const boxes = boxesOf(callTree(stacks));
  const depth = Math.max(...boxes.map((box) => box.depth)) + 1;
  const titleOf = ({ name, from, to }: Box): string => `${name}\n${formatPercent(to - from)} of the time`;
  return canvas.draw({
    label,
    options: {
      width: WIDTH,
      height: depth * ROW,
      margin: 0,
      x: { domain: [0, 1], axis: null },
      y: { domain: [0, depth], axis: null },
      style: { background: 'white' },
      marks: [
        Plot.rect(boxes, {
          x1: 'from',
          x2: 'to',
          y1: 'depth',
          y2: ({ depth: row }: Box) => row + 1,
          inset: 0.5,
          fill: ({ name }: Box) => colorOf(name),
          title: titleOf,
        }),
        Plot.text(boxes, {
          x: 'from',
          y: ({ depth: row }: Box) => row + 0.5,
          dx: 3,
          textAnchor: 'start',
          fontSize: FONT_SIZE,
          fill: '#111',
          text: ({ name, from, to }: Box) => fitting(name, (to - from) * WIDTH),
          title: titleOf,
        }),
      ],
    },
  });
}

function boxesOf(root: Call): Box[] {
  const boxes: Box[] = [];
  const add = ({ name, seconds, calls }: Call, from: number, depth: number): void => {
    const part = seconds / root.seconds;
    if (!(part >= LEAST_PART)) return;
    boxes.push({ name, from, to: from + part, depth });
    let at = from;
    for (const call of [...calls.values()].toSorted((a, b) => b.seconds - a.seconds)) {
      add(call, at, depth + 1);
      at += call.seconds / root.seconds;
    }
  };
  add(root, 0, 0);
  return boxes;
}

/** The name, as far as it fits. */
function fitting(name: string, width: number): string {
  const characters = Math.floor((width - 6) / CHARACTER);
  if (characters < 3) return '';
  return name.length <= characters ? name : `${name.slice(0, characters - 1)}…`;
}

/** Warm colours for JavaScript, whose names have a line; cool ones for native code. */
function colorOf(name: string): string {
  const shade = [...name].reduce((sum, character) => (sum * 31 + character.codePointAt(0)!) % 24, 0);
  return / \S+:\d+/.test(name) ? `hsl(${28 + shade}, 85%, 70%)` : `hsl(${190 + shade}, 55%, 75%)`;
}
