/** What stands in the place of a secret. */
export const HIDDEN = '***';

/** The names of parameters whose values are secrets. */
const SECRET_NAME = /pass|pwd|secret|token|auth|key|user/i;

/**
 * A URL to be shown or written down: without its user and password, and without the values of parameters that are named as
 * if they were secret. Also of texts that are no proper URLs.
 */
export function redactUrl(url: string): string {
  const [place = '', ...queries] = url.split('?');
  // Up to the last @, since people forget to encode those in their passwords.
  const shown = place.replace(/^([a-z][a-z0-9+.-]*:\/\/).*@/is, `$1${HIDDEN}@`);
  if (queries.length === 0) return shown;
  const query = queries.join('?');
  // What follows an @ may be the rest of a secret, as nobody has encoded it.
  if (query.split('&').some((parameter) => parameter.includes('@') && SECRET_NAME.test(parameter.split('=')[0]!))) {
    return `${place.replace(/:\/\/.*$/s, '://')}${HIDDEN}`;
  }
  // A password with a question mark in it: what looks like a query is a part of it.
  if (query.includes('@') && /^[a-z][a-z0-9+.-]*:\/\//i.test(place)) {
    return `${place.replace(/:\/\/.*$/s, '://')}${HIDDEN}${query.slice(query.lastIndexOf('@'))}`;
  }
  const parameters = query.split('&').map((parameter) => {
    const [name = '', ...values] = parameter.split('=');
    return values.length > 0 && SECRET_NAME.test(name) ? `${name}=${HIDDEN}` : parameter;
  });
  return `${shown}?${parameters.join('&')}`;
}

/** Whether something was taken out of a URL of `redactUrl`. */
export function hasHidden(url: string): boolean {
  return url.includes(HIDDEN);
}
