import { createServer } from 'node:http2';
import { describe, expect, it } from 'vitest';
import { serversIn } from '../../src/grpc/http2-servers.js';

describe('the HTTP/2 servers of grpc-js', () => {
  it('are read from the keys of a Map', () => {
    const server = createServer().on('session', () => undefined);
    expect(serversIn(new Map([[server, {}]]))).toEqual([server]);
  });

  it.each([
    ['missing', undefined],
    ['an array', [createServer()]],
    ['an empty Map', new Map()],
    ['a Map of other keys', new Map([['a', {}]])],
    ['a server without a session listener', new Map([[createServer(), {}]])],
  ])('stop the start with an error that names the lockfile if they are %s', (_, found) => {
    expect(() => serversIn(found)).toThrow(/@grpc\/grpc-js is not the one .* package-lock\.json\.$/);
  });
});
