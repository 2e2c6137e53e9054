import type { Family } from './workload.js';

/** The family of a name that a module exports. */
export async function familyIn(module: string, name: string): Promise<Family> {
  const exports = Object.values((await import(module)) as Record<string, unknown>);
  const isFamily = (value: unknown): value is Family =>
    typeof value === 'object' && value !== null && 'plan' in value && (value as Family).name === name;
  const family = exports.find(isFamily);
  if (family === undefined) throw new Error(`${module} exports no family of the name ${name}`);
  return family;
}
