import { HYBRID_OPTIONS } from './hybrid/options.js';
import { MEASUREMENTS_OPTIONS } from './measurements/options.js';
import type { GivenValues, OptionTable } from './option.js';
import { REQUEST_OPTIONS, SERVER_OPTIONS } from './requests/options.js';
import { REST_OPTIONS } from './rest/options.js';

const OWN_OPTIONS = { ...MEASUREMENTS_OPTIONS, ...REST_OPTIONS, ...HYBRID_OPTIONS, ...REQUEST_OPTIONS };

/** The options of all families of this package, known without loading a family. */
export const FAMILY_OPTIONS = Object.assign({}, ...Object.values(SERVER_OPTIONS), OWN_OPTIONS) as OptionTable;

/** What may be said of them; maps, such as that of engines, have types of their own. */
export type FamilyValues = GivenValues<typeof OWN_OPTIONS>;
