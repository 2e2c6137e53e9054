import { HYBRID_OPTIONS } from './hybrid/options.js';
import { MEASUREMENTS_OPTIONS } from './measurements/options.js';
import type { GivenValues } from './option.js';
import { REQUEST_OPTIONS, SERVER_OPTIONS } from './requests/options.js';
import { REST_OPTIONS } from './rest/options.js';

const { mysql, redis, rest, ingest, shards } = SERVER_OPTIONS;
const SERVERS = { ...mysql, ...redis, ...rest, ...ingest, ...shards };

/** The options of all families of this package, known without loading a family. */
export const FAMILY_OPTIONS = {
  ...MEASUREMENTS_OPTIONS,
  ...SERVERS,
  ...REST_OPTIONS,
  ...HYBRID_OPTIONS,
  ...REQUEST_OPTIONS,
};

/** What may be said of them. */
export type FamilyValues = GivenValues<typeof FAMILY_OPTIONS>;
