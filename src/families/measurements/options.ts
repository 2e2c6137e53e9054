import { BoundaryError } from '../../errors.js';
import { hyperdAt } from '../../host/hyperd.js';
import { type FilledValues, type OptionTable, option } from '../option.js';
import { path } from '../option-values.js';
import { CLIENT_OPTIONS } from '../requests/options.js';

/** The options of the family `measurements` alone. */
export const MEASUREMENTS_OPTIONS = {
  ...CLIENT_OPTIONS,
  hyperd: option('--hyperd <path>', path, 'the hyperd to start for the engine hyper', {
    otherwise: 'HYPERD_PATH, or where `setup` put it',
    check: (path: string) => {
      if (hyperdAt(path) === undefined) throw new BoundaryError('BB_USAGE', `--hyperd ${path}: there is no hyperd`);
    },
  }),
} satisfies OptionTable;

export type MeasurementsValues = FilledValues<typeof MEASUREMENTS_OPTIONS>;
