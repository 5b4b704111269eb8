import { describe, expect, it } from 'vitest';
import { fieldsByName, shorten } from '../../src/fields/message-fields.js';
import { messageType } from '../support/library-contract.js';

describe('the fields of a message', () => {
  it('are found by proto name and by JSON name', () => {
    const fields = fieldsByName(messageType('Everything'));
    expect(fields.get('int32_list')).toBe(fields.get('int32List'));
    expect(fields.get('odd_name')).toBe(fields.get('Odd'));
    expect(fields.get('oddName')).toBeUndefined();
    expect(fields.get('hasOwnProperty')).toBeUndefined();
  });
});

describe('a name that is echoed to the client', () => {
  it.each([
    { name: 'short', echo: 'short', why: 'it is short' },
    { name: 'x'.repeat(64), echo: 'x'.repeat(64), why: 'it is not longer than 64 characters' },
    { name: 'x'.repeat(65), echo: `${'x'.repeat(64)}…`, why: 'it is cut after 64 characters' },
    { name: '📚'.repeat(64), echo: '📚'.repeat(64), why: 'characters count, not code units' },
    { name: '📚'.repeat(65), echo: `${'📚'.repeat(64)}…`, why: 'no character is cut in two' },
    { name: 'a\ud800b', echo: 'a\ufffdb', why: 'a lone surrogate is not a character' },
  ])('is $echo: $why', ({ name, echo }) => {
    expect(shorten(name)).toBe(echo);
  });
});
