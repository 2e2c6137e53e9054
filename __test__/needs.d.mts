import type words from './needs.json';

export const needs: Readonly<
  Record<keyof typeof words, { readonly what: string; readonly get: string; readonly testAll: boolean }>
>;
export function isRequired(need: string): boolean;
export function requiredNeeds(): (keyof typeof words)[];
