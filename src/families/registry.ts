import { HYBRID_OPTIONS } from './hybrid/options.js';
import { MEASUREMENTS_OPTIONS } from './measurements/options.js';
import type { GivenValues, OptionTable } from './option.js';
import { CLIENT_OPTIONS, PROCESS_OPTIONS, REQUEST_OPTIONS, SERVER_OPTIONS } from './requests/options.js';
import { QUERY_OPTIONS } from './query/options.js';
import { REST_OPTIONS } from './rest/options.js';
import type { Family } from './workload.js';

interface Entry {
  readonly name: string;
  /** The options of the family alone. */
  readonly options?: OptionTable;
  /** Loads the module that defines the family, on demand: commands without a family do not load the addon. */
  load(): Promise<Family>;
}

/** The families of this package. */
const FAMILIES = [
  {
    name: 'measurements',
    load: async () => (await import('./measurements/family.js')).measurementsFamily,
    options: MEASUREMENTS_OPTIONS,
  },
  { name: 'kv', load: async () => (await import('./kv/family.js')).kvFamily },
  { name: 'sql', load: async () => (await import('./sql/family.js')).sqlFamily },
  { name: 'rest', load: async () => (await import('./rest/family.js')).restFamily, options: REST_OPTIONS },
  { name: 'ingest', load: async () => (await import('./ingest/family.js')).ingestFamily },
  { name: 'hybrid', load: async () => (await import('./hybrid/family.js')).hybridFamily, options: HYBRID_OPTIONS },
  { name: 'boundary', load: async () => (await import('./boundary/family.js')).boundaryFamily },
  { name: 'codec', load: async () => (await import('./codec/family.js')).codecFamily },
  { name: 'query', load: async () => (await import('./query/family.js')).queryFamily, options: QUERY_OPTIONS },
] as const satisfies readonly Entry[];

/** The names of the families of this package. */
export const FAMILY_NAMES: readonly string[] = FAMILIES.map(({ name }) => name);

/** Every family of this package. */
export async function loadFamilies(): Promise<Family[]> {
  return Promise.all(FAMILIES.map(({ load }) => load()));
}

/** The options of all families of this package, known without loading a family. */
export const FAMILY_OPTIONS: OptionTable = Object.assign(
  {},
  ...Object.values(SERVER_OPTIONS),
  ...FAMILIES.map((family: Entry) => family.options),
  REQUEST_OPTIONS,
  PROCESS_OPTIONS,
  CLIENT_OPTIONS,
);

type Intersection<Union> = (Union extends unknown ? (part: Union) => void : never) extends (all: infer All) => void
  ? All
  : never;

/** Values for these options. Maps, such as the map of engines, have types of their own. */
export type FamilyValues = GivenValues<
  Intersection<Extract<(typeof FAMILIES)[number], { readonly options: unknown }>['options']> &
    typeof REQUEST_OPTIONS &
    typeof PROCESS_OPTIONS &
    typeof CLIENT_OPTIONS
>;
