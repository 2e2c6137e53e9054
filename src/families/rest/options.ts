import { redactUrl } from '../../redact-url.js';
import { type FilledValues, type OptionTable, option } from '../option.js';
import { scale, text } from '../option-values.js';
import { REST_MATRIX } from './data.js';

const { scaleFactor } = REST_MATRIX.aggregation;
const ABOUT_SCALE = "of rest: the size of a private server's lineitem, 0.01 to 1";
const SCALE_FACTOR = { default: scaleFactor, variable: 'REST_SCALE_FACTOR', code: 'BB_USAGE' };

/** The options of the family `rest` alone. */
export const REST_OPTIONS = {
  restUrl2: option('--rest-url-2 <url>', text, 'of rest: the second of two servers', {
    otherwise: 'a private one beside a private one',
    variable: 'REST_URL_2',
    redact: redactUrl,
  }),
  restScaleFactor: option('--rest-scale-factor <n>', scale, ABOUT_SCALE, SCALE_FACTOR),
} satisfies OptionTable;

export type RestValues = FilledValues<typeof REST_OPTIONS>;
