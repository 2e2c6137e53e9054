import { type FilledValues, type OptionTable, option } from '../option.js';
import { text } from '../option-values.js';

/** The options of the family `query` alone. */
export const QUERY_OPTIONS = {
  sql: option('--sql <query>', text, 'a query of your own, over the database that --engine-uri names', {
    // A query may read files over a network.
    redact: (query) => query.replaceAll(/(:\/\/)[^\s/@'"]*@/g, '$1***@'),
  }),
} satisfies OptionTable;

export type QueryValues = FilledValues<typeof QUERY_OPTIONS>;
