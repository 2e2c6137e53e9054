/**
 * Observable Plot over a document without a browser. Both are loaded when a report is made, not before, so that neither
 * a run nor a user of the library waits for them.
 */
import type * as Plot from '@observablehq/plot';
import { Markup } from './markup.js';

/** The width of a figure in its own units. A phone shows them as they are. Wider pages have several figures side by side. */
export const FIGURE_WIDTH = 400;

/** A drawing: the options of Plot, with the label for a reader who does not see it. */
export interface Drawing {
  readonly label: string;
  readonly options: Plot.PlotOptions;
  /** Whether parts of the picture are links. Otherwise it is one image for a screen reader. */
  readonly hasLinks?: boolean;
}

export interface Canvas {
  readonly Plot: typeof Plot;
  /** The drawing as SVG. Colours are the variables of `style.ts`. */
  draw(drawing: Drawing): Markup;
}

/** Attributes with coordinates. A hundredth of a unit is enough for them. */
const COORDINATES = ['d', 'x', 'y', 'x1', 'x2', 'y1', 'y2', 'cx', 'cy', 'width', 'height', 'transform'];

export async function loadCanvas(): Promise<Canvas> {
  const [plot, { parseHTML }] = await Promise.all([import('@observablehq/plot'), import('linkedom')]);
  const { document } = parseHTML('<!doctype html><html><body></body></html>');
  return {
    Plot: plot,
    draw({ label, options, hasLinks = false }) {
      const svg = plot.plot({ width: FIGURE_WIDTH, color: { type: 'identity' }, ...options, document });
      // The page has one style for all figures.
      svg.querySelector('style')?.remove();
      svg.removeAttribute('class');
      for (const element of svg.querySelectorAll('*')) {
        for (const name of COORDINATES) {
          const value: string | null = element.getAttribute(name);
          if (value !== null && value.includes('.')) element.setAttribute(name, rounded(value));
        }
      }
      // A group without a role takes no name.
      for (const group of svg.querySelectorAll('g[aria-label]')) {
        group.setAttribute('class', group.getAttribute('aria-label')!);
        group.removeAttribute('aria-label');
      }
      svg.setAttribute('role', hasLinks ? 'group' : 'img');
      svg.setAttribute('aria-label', label);
      svg.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
      svg.setAttribute('xmlns:xlink', 'http://www.w3.org/1999/xlink');
      svg.setAttribute('font-size', '12');
      return new Markup(svg.outerHTML);
    },
  };
}

function rounded(coordinates: string): string {
  return coordinates.replaceAll(/-?\d+\.\d+/g, (number) => String(Number(Number(number).toFixed(2))));
}
