import fc from '../support/fast-check.js';
import { describe, expect, it } from 'vitest';
import { jsonProblem } from '../../src/json/json-problem.js';
import { MAX_DEPTH } from '../../src/json/json-text.js';

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

describe('text that is not JSON', () => {
  it.each([
    ['', 'it ends at line 1, column 1, where a value is expected.'],
    ['{"a":}', 'line 1, column 6 has "}", where a value is expected.'],
    ['{"a" 1}', 'line 1, column 6 has "1", where ":" is expected.'],
    ['{"a":1', 'it ends at line 1, column 7, where "," or "}" is expected.'],
    ['{"a":1,}', 'line 1, column 8 has "}", where a key in double quotes is expected.'],
    ["{'a':1}", 'line 1, column 2 has "\'", where a key in double quotes or "}" is expected.'],
    ['{\n  "a": [1, 2\n  "b"', 'line 3, column 3 has "\\"", where "," or "]" is expected.'],
    ['[}', 'line 1, column 2 has "}", where a value or "]" is expected.'],
    ['[01]', 'line 1, column 3 has "1", where "," or "]" is expected.'],
    ['[{"a":[]},nul]', 'line 1, column 11 has "n", where a value is expected.'],
    ['{} {}', 'line 1, column 4 has "{", where the end is expected.'],
    ['{}\0', 'line 1, column 3 has U+0000, where the end is expected.'],
    ['"📚\n"', 'line 1, column 3 has U+000A, where an escape is expected.'],
    ['"\\x"', 'line 1, column 2 has "\\\\", where an escape of JSON is expected.'],
    ['{"a":"b', 'it ends at line 1, column 8, where a closing quotation mark is expected.'],
    ['[1.5e3,"\\u00e9\\n",true,x]', 'line 1, column 24 has "x", where a value is expected.'],
  ])('%j has its first wrong place named', (text, problem) => {
    expect(jsonProblem(text, MAX_DEPTH)).toBe(problem);
  });

  it('has a wrong place after a beginning that can be completed, wherever it is cut or changed', () => {
    const change = fc.record({
      at: fc.nat(200),
      by: fc.constantFrom('', '}', ']', ',', ':', '"', '\\', '0', 'x', '\n'),
    });
    fc.assert(
      fc.property(fc.json(), change, (json, { at, by }) => {
        const text = json.slice(0, at) + by + json.slice(at + 1);
        fc.pre(!parses(text));
        expect(jsonProblem(text, Infinity)).toMatch(/^(?:it ends at )?line \d+, column \d+.* is expected\.$/);
      }),
    );
  });

  it('is searched only as deep as it may be', () => {
    expect(jsonProblem('[[x', 2)).toBe('line 1, column 3 has "x", where a value or "]" is expected.');
    expect(jsonProblem('[[[x', 2)).toBeUndefined();
    expect(jsonProblem('[[{x', 2)).toBeUndefined();
  });

  it('is read in time that grows with its length only', () => {
    const text = `[${'"\\n",'.repeat(200_000)}`;
    expect(jsonProblem(text, MAX_DEPTH)).toContain('it ends at line 1, column 1000002');
  });
});
