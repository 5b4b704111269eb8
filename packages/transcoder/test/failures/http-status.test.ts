import { readFileSync } from 'node:fs';
import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { httpStatusOf } from '../../src/failures/http-status.js';

const published = readFileSync('node_modules/google-proto-files/google/rpc/code.proto', 'utf8');
const mappings = [...published.matchAll(/HTTP Mapping: (\d+).*\n\s+(\w+) = \d+;/g)].map((match) => ({
  name: match[2] ?? '',
  http: Number(match[1]),
}));

describe('the HTTP status of a gRPC code', () => {
  it('is published for every code', () => {
    expect(mappings.map(({ name }) => status[name as keyof typeof status])).toHaveLength(17);
  });

  it.each(mappings)('is $http for $name, as google/rpc/code.proto says', ({ name, http }) => {
    expect(httpStatusOf(status[name as keyof typeof status])).toBe(http);
  });
});
