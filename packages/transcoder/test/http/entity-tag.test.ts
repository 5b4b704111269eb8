import { describe, expect, it } from 'vitest';
import { entityTag, matchesEntityTag } from '../../src/http/entity-tag.js';

describe('an entity tag', () => {
  it('is strong, and the same for the same body only', () => {
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
    { header: ' * ', matches: true, why: 'blanks around are no part of it' },
    { header: '"other"', matches: false, why: 'it is another tag' },
    { header: '"tag', matches: false, why: 'the quote is open' },
    { header: 'tag', matches: false, why: 'a tag has quotes' },
    { header: '"TAG"', matches: false, why: 'tags are case-sensitive' },
    { header: '', matches: false, why: 'it is empty' },
    { header: undefined, matches: false, why: 'the header is not there' },
  ])('If-None-Match: $header says $matches, since $why', ({ header, matches }) => {
    expect(matchesEntityTag(header, '"tag"')).toBe(matches);
  });
});
