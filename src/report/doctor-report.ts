/** The output of `boundary-bench doctor`. */
import {
  type Block,
  columns,
  heading,
  list,
  paragraph,
  renderTerminal,
  tableBlock,
  type Terminal,
  under,
} from './document.js';

export interface DoctorFindings {
  /** The version and build of this package. */
  readonly package: string;
  readonly isFit: boolean;
  readonly machine: readonly {
    readonly name: string;
    readonly isFit: boolean;
    readonly found: string;
    readonly advice?: string;
  }[];
  /** The names of everything that can be measured, by kind. */
  readonly here: Readonly<Record<string, readonly string[]>>;
  readonly missing: readonly { readonly reason: string; readonly names: readonly string[] }[];
}

export function renderDoctorTerminal(findings: DoctorFindings, terminal?: Terminal): string {
  return renderTerminal(documentOf(findings), terminal);
}

function documentOf({ package: line, isFit, machine, here, missing }: DoctorFindings): Block[] {
  return [
    paragraph(line),
    heading(3, 'Here'),
    ...list(Object.entries(here).map(([kind, names]) => `${kind}: ${names.join(', ') || 'none'}`)),
    ...under(heading(3, 'Missing'), list(missing.map(({ reason, names }) => `${names.join(', ')}: ${reason}`))),
    heading(3, 'This machine'),
    ...tableBlock({
      columns: columns('Check', '', 'Found'),
      rows: machine.map(({ name, isFit: isRight, found }) => [name, isRight ? 'ok' : 'BAD', found]),
    }),
    ...list(machine.flatMap(({ name, advice }) => (advice === undefined ? [] : `${name}: ${advice}`))),
    paragraph(isFit ? 'It is fit to measure on.' : 'It is not fit to measure on: small differences will not show.'),
  ];
}
