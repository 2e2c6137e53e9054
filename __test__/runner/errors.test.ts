import { describe, expect, it } from 'vitest';
import { BoundaryError, receivedError, sentError, toBoundaryError } from '../../src/errors.js';

describe('toBoundaryError', () => {
  it('lets a BoundaryError through', () => {
    const error = new BoundaryError('BB_CLOSED', 'closed', { hint: 'Open it.' });
    expect(toBoundaryError(error)).toBe(error);
  });

  it.each([
    ['a code of ours', Object.assign(new Error('no'), { code: 'BB_TABLE_EXISTS' }), 'BB_TABLE_EXISTS', 'no'],
    ['a code in the message', new Error('[BB_ENGINE] embedded: broken\nbadly'), 'BB_ENGINE', 'embedded: broken\nbadly'],
    ['both', Object.assign(new Error('[BB_IO] gone'), { code: 'BB_IO' }), 'BB_IO', 'gone'],
    ['the error of an abort', AbortSignal.abort().reason, 'BB_ABORTED', 'This operation was aborted'],
    ['an error of Node', Object.assign(new Error('no file'), { code: 'ENOENT' }), 'BB_UNEXPECTED', 'no file'],
    [
      'an argument of another type',
      Object.assign(new Error('no text'), { code: 'StringExpected' }),
      'BB_INVALID_ARGUMENT',
      'no text',
    ],
    ['a string', 'out of luck', 'BB_UNEXPECTED', 'out of luck'],
    ['nothing', undefined, 'BB_UNEXPECTED', 'undefined'],
    ['null', null, 'BB_UNEXPECTED', 'null'],
    ['an error without a message', new TypeError(), 'BB_UNEXPECTED', 'TypeError'],
    ['a code that is not ours', { code: 'BB_ lower', message: 'x' }, 'BB_UNEXPECTED', 'x'],
  ])('takes %s', (_, thrown, code, message) => {
    const error = toBoundaryError(thrown);
    expect(error).toBeInstanceOf(BoundaryError);
    expect({ code: error.code, message: error.message }).toEqual({ code, message });
  });

  it('knows an error after which nobody knows whether the work was done, also from another thread', () => {
    const error = toBoundaryError(new Error('[BB_ABORTED?] the command was cancelled'));
    expect(error).toMatchObject({ code: 'BB_ABORTED', message: 'the command was cancelled', outcome: 'unknown' });
    expect(receivedError(sentError(error))).toMatchObject({ code: 'BB_ABORTED', outcome: 'unknown' });
    expect('outcome' in toBoundaryError(new Error('[BB_ENGINE] refused'))).toBe(false);
  });

  it('keeps the cause, and survives an object that cannot be read', () => {
    const cause = new Error('why');
    expect(toBoundaryError(cause).cause).toBe(cause);
    const hostile = {
      get code(): string {
        throw new Error('hands off');
      },
    };
    expect(toBoundaryError(hostile).code).toBe('BB_UNEXPECTED');
  });
});
