/** The flags of the command line, made of the tables of options. */
import { type Command, InvalidArgumentError, Option as Flag } from 'commander';
import { groupBy } from '../compare/cell-groups.js';
import { BoundaryError } from '../errors.js';
import { type Option, type OptionTable, checkValue } from '../families/option.js';

/** The values on the command line, by the names of flags. */
export type Flags = Readonly<Record<string, unknown>>;

/** Adds the flags of a table's options, one for all that share it. */
export function addFlags(command: Command, table: OptionTable): Command {
  for (const options of groupBy(Object.values(table), ({ flag }) => flag)) {
    const { flag, kind, choices } = options[0]!;
    const added = new Flag(flag, helpOf(options));
    if (choices !== undefined) added.choices(choices);
    else if (!added.isBoolean()) added.argParser(parserOf(kind.parse));
    command.addOption(added);
  }
  return command;
}

function helpOf(options: readonly Option[]): string {
  const { help, default: byDefault, otherwise = byDefault } = options[0]!;
  const variables = options.flatMap(({ variable }) => variable ?? []).join(', ');
  const sources = [variables, otherwise].filter((part) => part !== undefined && part !== '');
  return sources.length === 0 ? help : `${help} (default: ${sources.join(', or ')})`;
}

/** A parser for commander. Commander prints its error with the option's name. */
export function parserOf<T>(parse: (text: string, before?: T) => T): (text: string, before?: T) => T {
  return (text, before) => {
    try {
      return parse(text, before);
    } catch (error) {
      throw new InvalidArgumentError((error as Error).message);
    }
  };
}

/** The options of a table that flags give, by their names. */
export function givenBy(flags: Flags, table: OptionTable): Record<string, unknown> {
  const values = Object.entries(table).map(([name, { flag }]) => [name, flags[new Flag(flag).attributeName()]]);
  return Object.fromEntries(values.filter(([, value]) => value !== undefined)) as Record<string, unknown>;
}

/**
 * The options of a table that variables give: the one place that reads them. Throws as `checkValue`, or `BB_USAGE` for
 * a text that is no value of its option.
 */
export function givenByVariables(table: OptionTable, environment = process.env): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const [name, option] of Object.entries(table)) {
    const text = environment[option.variable ?? ''] ?? '';
    if (text === '') continue;
    values[name] = valueOf(option, text);
    checkValue(name, option, values[name]);
  }
  return values;
}

function valueOf({ kind, variable }: Option, text: string): unknown {
  try {
    return (kind.read ?? kind.parse)(text);
  } catch (cause) {
    throw new BoundaryError('BB_USAGE', `${variable} is "${text}". ${(cause as Error).message}`, { cause });
  }
}
