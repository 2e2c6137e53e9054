import { stripVTControlCharacters } from 'node:util';

import {
  type Budget,
  type BudgetCheck,
  type BudgetOutcome,
  type BudgetVerdict,
  isRatioBudget,
} from '../compare/budgets.js';
import type { RatioInterval } from '../stats/ratio-interval.js';
import {
  type Block,
  type Table,
  heading,
  list,
  paragraph,
  renderMarkdown,
  renderTerminal,
  tableBlock,
  tableOf,
  under,
} from './document.js';
import { UNKNOWN, formatDuration, formatFactor, formatFactorInterval } from './format.js';
import { noVerdictReason } from './marks.js';

/** The output of `boundary-bench check`, for a terminal. */
export function renderBudgetsTerminal(check: BudgetCheck): string {
  return renderTerminal(budgetBlocks(check));
}

/** The summary of a job of GitHub Actions: Markdown with a title. */
export function renderBudgetsMarkdown(check: BudgetCheck): string {
  return renderMarkdown([heading(2, 'Budgets'), ...budgetBlocks(check)]);
}

/**
 * The annotations of a job of GitHub Actions: a workflow command for each budget that is broken or inconclusive, or
 * whose cell was not measured.
 */
export function budgetAnnotations({ outcomes }: BudgetCheck): string {
  return outcomes
    .flatMap((outcome) => {
      const { level } = VERDICTS[outcome.verdict];
      if (level === undefined) return [];
      return [`::${level} title=${escaped(outcome.budget.name, true)}::${escaped(sentenceOn(outcome), false)}\n`];
    })
    .join('');
}

/** https://github.com/actions/toolkit/blob/main/packages/core/src/command.ts */
function escaped(value: string, isProperty: boolean): string {
  const data = value.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
  return isProperty ? data.replaceAll(':', '%3A').replaceAll(',', '%2C') : data;
}

/** JUnit XML, in which a budget is a test case. */
export function renderBudgetsJunit({ outcomes }: BudgetCheck): string {
  const cases = outcomes.map((outcome) => {
    const { budget, verdict } = outcome;
    const { result } = VERDICTS[verdict];
    const content = result === undefined ? '' : `<${result} message="${attribute(sentenceOn(outcome))}"/>`;
    return `  <testcase name="${attribute(budget.name)}" classname="${attribute(budget.cell)}">${content}</testcase>\n`;
  });
  const ending = (result: string): number =>
    outcomes.filter(({ verdict }) => VERDICTS[verdict].result === result).length;
  const counts = `tests="${outcomes.length}" failures="${ending('failure')}" skipped="${ending('skipped')}"`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuite name="boundary-bench budgets" ${counts}>\n${cases.join('')}</testsuite>\n`;
}

/** A text in an attribute of XML, which has no place for colors, control characters and halves of characters, escaped or not. */
function attribute(value: string): string {
  const text = stripVTControlCharacters(value).replaceAll(/(?!\n)\p{Cc}|[\p{Cs}\uFFFE\uFFFF]/gu, ' ');
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;').replaceAll('\n', '&#10;');
}

function budgetBlocks(check: BudgetCheck): Block[] {
  const { outcomes, hardwareDifferences } = check;
  const undecided = outcomes.filter(({ verdict }) => verdict === 'undecided' || verdict === 'unmeasured');
  return [
    ...under(
      paragraph('The times were set on other hardware, so only the ratios are checked:'),
      list(hardwareDifferences),
    ),
    ...tableBlock(budgetTable(outcomes)),
    ...list(undecided.map((outcome) => `${outcome.budget.name}: ${sentenceOn(outcome)}`)),
    paragraph(conclusion(outcomes)),
  ];
}

/** The forms of each verdict in reports: the text of a table, JUnit's result of a test case, and the level of an annotation. */
const VERDICTS: Readonly<
  Record<
    BudgetVerdict,
    { readonly text: string; readonly result?: 'failure' | 'skipped'; readonly level?: 'error' | 'warning' }
  >
> = {
  target: { text: 'within the target' },
  kept: { text: 'within the maximum' },
  broken: { text: 'BROKEN', result: 'failure', level: 'error' },
  undecided: { text: 'inconclusive', result: 'skipped', level: 'warning' },
  unmeasured: { text: 'NOT MEASURED', result: 'failure', level: 'error' },
  'other-hardware': { text: 'not checked here', result: 'skipped' },
};

function budgetTable(outcomes: readonly BudgetOutcome[]): Table {
  return tableOf(outcomes, [
    { title: 'Budget', of: ({ budget }) => budget.name },
    { title: '>Target', of: ({ budget }) => boundText(budget, 'target') },
    { title: '>Maximum', of: ({ budget }) => boundText(budget, 'maximum') },
    {
      title: '>Measured (95% interval)',
      of: ({ budget, measured }) => (measured ? intervalText(budget, measured) : UNKNOWN),
    },
    { title: 'Verdict', of: ({ verdict }) => VERDICTS[verdict].text },
  ]);
}

function sentenceOn({ budget, verdict, measured, reason, noVerdict }: BudgetOutcome): string {
  const { maximum, format } = boundsOf(budget);
  const what = isRatioBudget(budget) ? `${budget.cell} over ${budget.over}` : budget.cell;
  if (verdict === 'unmeasured') return reason ?? 'it was not measured';
  if (verdict === 'other-hardware') return `the time of ${what} was set on other hardware`;
  const figure = measured === undefined ? '' : ` takes ${intervalText(budget, measured)}`;
  const why = noVerdict === undefined ? '' : `, since a cell was ${noVerdictReason(noVerdict)}`;
  const more = verdict === 'undecided' ? `; more forks decide it${why}` : '';
  return `${what}${figure}, and the maximum is ${format(maximum)}${more}`;
}

function conclusion(outcomes: readonly BudgetOutcome[]): string {
  const of = (...verdicts: BudgetVerdict[]): number =>
    outcomes.filter(({ verdict }) => verdicts.includes(verdict)).length;
  return `${of('broken')} of ${outcomes.length} budgets broken, ${of('unmeasured')} not measured, ${of('undecided')} inconclusive.`;
}

function boundsOf(budget: Budget): {
  readonly target: number | undefined;
  readonly maximum: number;
  readonly format: (value: number) => string;
} {
  return isRatioBudget(budget)
    ? { target: budget.targetRatio, maximum: budget.maximumRatio, format: formatFactor }
    : { target: budget.targetSeconds, maximum: budget.maximumSeconds, format: formatDuration };
}

function boundText(budget: Budget, which: 'target' | 'maximum'): string {
  const { format, ...bounds } = boundsOf(budget);
  const bound = bounds[which];
  return bound === undefined ? UNKNOWN : format(bound);
}

function intervalText(budget: Budget, measured: RatioInterval): string {
  if (isRatioBudget(budget)) return formatFactorInterval(measured);
  const { ratio, low, high } = measured;
  return `${formatDuration(ratio)} (${formatDuration(low)}–${formatDuration(high)})`;
}
