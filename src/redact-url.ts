/** The text that is shown instead of a secret. */
export const HIDDEN = '***';

/** Names of parameters whose values are secrets. */
const SECRET_NAME = /pass|pwd|secret|token|auth|key|user/i;

/**
 * The URL for display or for a file: without its user and password, and without the values of parameters whose names suggest a
 * secret. Also works for texts that are not valid URLs.
 */
export function redactUrl(url: string): string {
  const [place = '', ...queries] = url.split('?');
  // Up to the last @, since users forget to encode an @ in their passwords.
  const shown = place.replace(/^([a-z][a-z0-9+.-]*:\/\/).*@/is, `$1${HIDDEN}@`);
  if (queries.length === 0) return shown;
  const query = queries.join('?');
  // The text after an unencoded @ may be the rest of a secret.
  if (query.split('&').some((parameter) => parameter.includes('@') && SECRET_NAME.test(parameter.split('=')[0]!))) {
    return `${place.replace(/:\/\/.*$/s, '://')}${HIDDEN}`;
  }
  // A password with a question mark in it: the apparent query is a part of it.
  if (query.includes('@') && /^[a-z][a-z0-9+.-]*:\/\//i.test(place)) {
    return `${place.replace(/:\/\/.*$/s, '://')}${HIDDEN}${query.slice(query.lastIndexOf('@'))}`;
  }
  const parameters = query.split('&').map((parameter) => {
    const [name = '', ...values] = parameter.split('=');
    return values.length > 0 && SECRET_NAME.test(name) ? `${name}=${HIDDEN}` : parameter;
  });
  return `${shown}?${parameters.join('&')}`;
}

/** Whether `redactUrl` removed something from a URL. */
export function hasHidden(url: string): boolean {
  return url.includes(HIDDEN);
}
