import { type OptionTable, flatten, partsOf } from '../families/option.js';
import { FAMILY_NAMES, FAMILY_OPTIONS } from '../families/registry.js';
import type { Run, RunContext } from '../records/record.js';
import { MATRIX_OPTIONS, SAMPLING_OPTIONS } from './run-config.js';

const ALL_OPTIONS: OptionTable = { ...MATRIX_OPTIONS, ...SAMPLING_OPTIONS, ...FAMILY_OPTIONS };

/** The arguments by which a run of this package's families is measured again: the rows, and the options that are not the default. */
export function argumentsText({ config: { rows = {}, ...config } }: Pick<RunContext, 'config'>): string {
  const flags = Object.entries(flatten(config)).flatMap(([name, value]) => {
    const declared = ALL_OPTIONS[name] ?? ALL_OPTIONS[partsOf(name).map ?? ''];
    if (declared === undefined || value === declared.default) return [];
    const [flag] = declared.flag.split(' ');
    return value === true ? [flag] : [`${flag} ${quoted([value].flat().join(','))}`];
  });
  const { measurements } = rows as Readonly<Record<string, number>>;
  return [...(measurements === undefined ? [] : [String(measurements)]), ...flags].join(' ');
}

/** The command that measures a run again. `undefined` for a user's own workloads, whose files are elsewhere on other machines. */
export function commandText({ context, records }: Pick<Run, 'context' | 'records'>): string | undefined {
  if (records.some(({ family }) => !FAMILY_NAMES.includes(family))) return undefined;
  return `npx boundary-bench run ${argumentsText(context)}`;
}

function quoted(text: string): string {
  return /[*:]/.test(text) ? `'${text}'` : text;
}
