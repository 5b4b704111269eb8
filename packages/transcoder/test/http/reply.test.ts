import { describe, expect, it } from 'vitest';
import { entityTag, isCurrent } from '../../src/http/reply.js';

describe('an entity tag', () => {
  it('is strong, and the same only for the same body', () => {
    expect(entityTag('{"a":1}')).toMatch(/^"[\w-]{27}"$/);
    expect(entityTag('{"a":1}')).toBe(entityTag('{"a":1}'));
    expect(entityTag('{"a":1}')).not.toBe(entityTag('{"a":2}'));
  });

  it.each([
    { header: '"tag"', matches: true, why: 'it is the tag' },
    { header: 'W/"tag"', matches: true, why: 'the comparison is weak' },
    { header: '"other", W/"x" , "tag"', matches: true, why: 'it is in the list' },
    { header: '"a,b","tag"', matches: true, why: 'a comma may be part of a tag' },
    { header: '*', matches: true, why: 'any representation counts' },
    { header: ' * ', matches: true, why: 'surrounding spaces are ignored' },
    { header: '"other"', matches: false, why: 'it is another tag' },
    { header: '"tag', matches: false, why: 'the closing quote is missing' },
    { header: 'tag', matches: false, why: 'a tag needs quotes' },
    { header: '"TAG"', matches: false, why: 'tags are case-sensitive' },
    { header: '', matches: false, why: 'it is empty' },
  ])('compared with If-None-Match: $header gives $matches, since $why', ({ header, matches }) => {
    expect(isCurrent({ 'if-none-match': header }, '"tag"')).toBe(matches);
  });

  it.each([
    { header: '"tag"', why: 'it is the tag' },
    { header: '"other" ,"tag"', why: 'it is in the list' },
    { header: 'W/"tag", "tag"', why: 'the strong tag is in the list too' },
    { header: '*', why: 'any representation counts' },
  ])('passes If-Match: $header, since $why', ({ header }) => {
    expect(isCurrent({ 'if-match': header }, '"tag"')).toBe(false);
    expect(isCurrent({ 'if-match': header, 'if-none-match': '"tag"' }, '"tag"')).toBe(true);
  });

  it.each([
    { header: 'W/"tag"', why: 'the comparison is strong' },
    { header: '"other"', why: 'it is another tag' },
    { header: 'tag', why: 'a tag needs quotes' },
    { header: '', why: 'it is empty' },
  ])('fails If-Match: $header, whatever If-None-Match is, since $why', ({ header }) => {
    for (const known of [{}, { 'if-none-match': '*' }]) {
      expect(() => isCurrent({ 'if-match': header, ...known }, '"tag"')).toThrow(
        expect.objectContaining({ reason: 'PRECONDITION_FAILED', httpStatus: 412 }),
      );
    }
  });

  it('matches nothing without either header', () => {
    expect(isCurrent({}, '"tag"')).toBe(false);
  });
});
