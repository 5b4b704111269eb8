import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  codeOf,
  type FieldViolation,
  httpStatusOf,
  invalidFields,
  MAX_VIOLATIONS,
} from '../../src/failures/failure.js';
import { Code } from '../../src/gen/google/rpc/code_pb.js';

const CODES = `${import.meta.dirname}/../../../../third_party/googleapis/google/rpc/code.proto`;
const published = readFileSync(CODES, 'utf8');
const mappings = [...published.matchAll(/HTTP Mapping: (\d+).*\n\s+(\w+) = \d+;/g)].map((match) => ({
  name: match[2] ?? '',
  http: Number(match[1]),
}));

describe('the HTTP status of a gRPC code', () => {
  it('is published for every code', () => {
    expect(mappings.map(({ name }) => Code[name as keyof typeof Code])).toHaveLength(17);
  });

  it.each(mappings)('is $http for $name, as google/rpc/code.proto says', ({ name, http }) => {
    expect(httpStatusOf(Code[name as keyof typeof Code])).toBe(http);
  });
});

describe('the code of a number', () => {
  it.each([
    [0, Code.OK],
    [16, Code.UNAUTHENTICATED],
    [17, Code.UNKNOWN],
    [-1, Code.UNKNOWN],
    [1.5, Code.UNKNOWN],
  ])('%d is %d', (number, code) => {
    expect(codeOf(number)).toBe(code);
  });
});

it('the violations of a failure are the first hundred, as often as they are read', () => {
  function* violations(): Generator<FieldViolation> {
    for (let index = 0; ; index += 1) yield { field: String(index), description: 'Must be a; got b.' };
  }
  const failure = invalidFields(violations());
  expect(failure.violations()).toHaveLength(MAX_VIOLATIONS);
  expect(failure.violations().map(({ field }) => field)).toEqual(
    Array.from({ length: MAX_VIOLATIONS }, (_, index) => String(index)),
  );
});
