import { redactUrl } from '../../redact-url.js';
import type { FilledValues, OptionTable } from '../option.js';
import { REST_MATRIX } from './data.js';

/** The options of the family `rest` alone. */
export const REST_OPTIONS = {
  restUrl2: {
    flag: '--rest-url-2 <url>',
    type: 'text',
    help: 'of rest: the second of two servers',
    otherwise: 'a private one beside a private one',
    variable: 'REST_URL_2',
    redact: redactUrl,
  },
  restScaleFactor: {
    flag: '--rest-scale-factor <n>',
    type: 'scale',
    help: "of rest: the size of a private server's lineitem, 0.01 to 1",
    otherwise: String(REST_MATRIX.aggregation.scaleFactor),
    default: REST_MATRIX.aggregation.scaleFactor,
    variable: 'REST_SCALE_FACTOR',
    code: 'BB_USAGE',
  },
} as const satisfies OptionTable;

export type RestValues = FilledValues<typeof REST_OPTIONS>;
