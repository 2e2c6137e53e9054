import type { Side } from '../../records/record.js';

/** The forms of dots in a square of 10 by 10. */
export const SHAPES = {
  diamond: 'M5 0L10 5L5 10L0 5Z',
  circle: 'M5 1A4 4 0 1 1 5 9A4 4 0 1 1 5 1Z',
  square: 'M1 1H9V9H1Z',
} as const;

export interface SideStyle {
  /** The name of the side in legends. */
  readonly meaning: string;
  readonly color: string;
  readonly symbol: keyof typeof SHAPES;
}

/** The look of a side: never its colour alone, for those who see no colours and for paper. */
export const SIDE_STYLES: Readonly<Record<Side, SideStyle>> = {
  rust: { meaning: 'rust: in Rust alone', color: 'var(--rust)', symbol: 'diamond' },
  napi: { meaning: 'napi: from Node through the addon', color: 'var(--napi)', symbol: 'circle' },
  js: { meaning: 'js: from Node with another client', color: 'var(--js)', symbol: 'square' },
};
