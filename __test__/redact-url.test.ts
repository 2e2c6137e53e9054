import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { redactUrl } from '../src/redact-url.js';

describe('redactUrl', () => {
  it.each([
    ['redis://localhost:6379/2', 'redis://localhost:6379/2'],
    ['redis://:geheim@localhost', 'redis://***@localhost'],
    ['rediss://user:geheim@[::1]:7000?cluster=true', 'rediss://***@[::1]:7000?cluster=true'],
    ['mysql://root:a@b/c@host/db', 'mysql://***@host/db'],
    ['mysql://root:a?b@host/db?tls=required', 'mysql://***@host/db?tls=required'],
    ['mysql://host/db?password=geheim&socket=/tmp/s', 'mysql://host/db?password=***&socket=/tmp/s'],
    ['redis://host/1?password=ge@heim&db=2', 'redis://***'],
    ['redis+unix:///tmp/s?db=2&password=ge@heim', 'redis+unix://***'],
    ['mysql:', 'mysql:'],
    ['embedded:/tmp/a@b.duckdb', 'embedded:/tmp/a@b.duckdb'],
  ])('%s', (url, shown) => {
    expect(redactUrl(url)).toBe(shown);
  });

  it('shows no password, whatever is in it', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), (password) => {
        const marked = `geheim${password}geheim`;
        expect(redactUrl(`mysql://user:${marked}@host:3306/db?tls=off`)).not.toContain('geheim');
        expect(redactUrl(`mysql://host/db?password=${encodeURIComponent(marked)}`)).not.toContain('geheim');
      }),
    );
  });
});
