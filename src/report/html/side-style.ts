import type { Side } from '../../records/record.js';

/** The look of a side: never its colour alone, for those who see no colours and for paper. */
export const SIDE_STYLES: Readonly<
  Record<Side, { readonly color: string; readonly symbol: 'diamond' | 'circle' | 'square' }>
> = {
  rust: { color: 'var(--rust)', symbol: 'diamond' },
  napi: { color: 'var(--napi)', symbol: 'circle' },
  js: { color: 'var(--js)', symbol: 'square' },
};
