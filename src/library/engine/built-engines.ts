import { addon } from '../../addon.js';

/** The engines that only an addon with all parts has. */
const OF_ALL: ReadonlySet<string> = new Set(['flight', 'hyper', 'sail', 'shards']);

/** Whether this build of the addon has an engine. An engine that nobody knows counts as built. */
export function isEngineBuilt(engine: string): boolean {
  return !OF_ALL.has(engine) || addon.buildInfo().all;
}
