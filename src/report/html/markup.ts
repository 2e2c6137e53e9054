/** HTML as text in which every value is escaped, unless it is HTML itself. */

/** A piece of HTML that stands in a page as it is. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type Content = Markup | string | number | undefined | readonly Content[];

/** A template of HTML: texts among its values are escaped, lists are joined, and `undefined` adds nothing. */
export function markup(parts: TemplateStringsArray, ...values: readonly Content[]): Markup {
  return new Markup(parts.map((part, index) => part + textOf(values[index])).join(''));
}

function textOf(value: Content): string {
  if (value === undefined) return '';
  if (value instanceof Markup) return value.text;
  if (typeof value === 'string' || typeof value === 'number') return escaped(String(value));
  return value.map(textOf).join('');
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** A text between tags or in a quoted attribute, without the control characters that an error message may contain. */
function escaped(text: string): string {
  return text.replaceAll(/\p{Cc}+/gu, ' ').replaceAll(/[&<>"']/g, (character) => ESCAPES[character]!);
}
