import { BoundaryError } from '../../errors.js';
import { hyperdAt } from '../../host/hyperd.js';
import { type FilledValues, type OptionTable, option } from '../option.js';
import { kinds } from '../option-values.js';
import { SERVER_OPTIONS } from '../requests/options.js';

/** The options of the family `measurements`. */
export const MEASUREMENTS_OPTIONS = {
  hyperd: option('--hyperd <path>', kinds.path, 'the hyperd to start for the engine hyper', {
    otherwise: 'HYPERD_PATH, or where `setup` put it',
    check: (path: string) => {
      if (hyperdAt(path) === undefined) throw new BoundaryError('BB_USAGE', `--hyperd ${path}: there is no hyperd`);
    },
  }),
  ...SERVER_OPTIONS.mysql,
} satisfies OptionTable;

export type MeasurementsValues = FilledValues<typeof MEASUREMENTS_OPTIONS>;
