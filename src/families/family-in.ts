import type { Family } from './workload.js';

/** The family of a name that a module exports. If there are several, it is the one with the workload. */
export async function familyIn(module: string, name: string, workload: string): Promise<Family> {
  const exports = Object.values((await import(module)) as Record<string, unknown>);
  const isFamily = (value: unknown): value is Family =>
    typeof value === 'object' && value !== null && 'plan' in value && (value as Family).name === name;
  const family = exports.filter(isFamily).find(({ onlyWorkload = workload }) => onlyWorkload === workload);
  if (family === undefined) throw new Error(`${module} exports no family of the name ${name} with ${workload}`);
  return family;
}
