import { credentials } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { grpcUpstream } from '../src/grpc-js.js';
import { describe as describeContract } from '../src/openapi.js';
import { followContract, reflect } from '../src/command/reflection.js';
import { createTranscoder } from '../src/transcoder.js';
import { httpRequest } from './support/http-request.js';
import { libraryDescriptorSet } from './support/library-contract.js';
import { openTranscoder } from './support/library-transcoder.js';

const REQUIRED = { descriptorSet: libraryDescriptorSet, upstream: { unary: () => never() } };
const CHANNEL = { credentials: credentials.createInsecure() };

function never(): never {
  throw new Error('No call is made.');
}

/** Options as a program without types may give them. */
const untyped = (options: object): never => options as never;

describe('an option of createTranscoder and describe', () => {
  it.each<[option: object, sentence: string]>([
    [{ maxBodyBytes: NaN }, 'must be a whole number from 0, or Infinity; got NaN.'],
    [{ maxBodyBytes: '64kb' }, 'must be a whole number from 0, or Infinity; got "64kb".'],
    [{ maxBodyBytes: 1.5 }, 'must be a whole number from 0, or Infinity; got 1.5.'],
    [{ maxRequests: -1 }, 'must be a whole number from 0, or Infinity; got -1.'],
    [{ deadlineMs: Infinity }, 'must be a number of milliseconds, above 0'],
    [{ deadlineMs: 0 }, 'must be a number of milliseconds, above 0'],
    [{ streamMs: NaN }, 'must be a number of milliseconds above 0, or Infinity; got NaN.'],
    [{ log: null }, 'must be an object with `debug()`, `info()`, `warn()`, `error()`; got null.'],
    [{ log: { debug: never } }, 'must be an object with `debug()`'],
    [{ lenient: 'false' }, 'must be true or false; got "false".'],
    [{ realm: '登録' }, 'must be a string of printable ASCII characters'],
    [{ realm: 'a"b' }, 'must be a string of printable ASCII characters'],
    [{ guard: {} }, 'must be a function; got an object.'],
    [{ services: 'library.v1.Library' }, 'must be an array or another iterable of strings'],
    [{ ignoredParameters: [1] }, 'must be an array or another iterable of strings'],
    [{ rules: ['a'] }, 'must be an array of objects; got an array.'],
    [{ forwardedHeaders: {} }, 'must be a Map; got an object.'],
    [{ unsupported: 'ignore' }, 'must be one of "refuse", "skip"; got "ignore".'],
    [{ json: [] }, 'must be an object; got an array.'],
    [{ descriptorSet: 'library.binpb' }, 'must be a Uint8Array; got "library.binpb".'],
    [{ basePath: 1 }, 'must be a string; got 1.'],
  ])('is refused: %o', (option, sentence) => {
    const [name] = Object.keys(option);
    const refused = `The option "${name}" ${sentence}`;
    expect(() => createTranscoder(untyped({ ...REQUIRED, ...option }))).toThrow(refused);
    expect(() => describeContract(untyped({ ...REQUIRED, ...option }))).toThrow(refused);
  });

  it('is refused within json, too', () => {
    const wrong = (json: object) => () => createTranscoder(untyped({ ...REQUIRED, json }));
    expect(wrong({ omit: 'all' })).toThrow('The option "json.omit" must be one of "nothing"');
    expect(wrong({ protoName: true })).toThrow('There is no option "json.protoName".');
  });

  it('may be required', () => {
    expect(() => createTranscoder(untyped({ ...REQUIRED, upstream: undefined }))).toThrow(
      'The option "upstream" is required.',
    );
    expect(() => createTranscoder(untyped({ ...REQUIRED, upstream: {} }))).toThrow(
      'The option "upstream" must be an object with `unary()`; got an object.',
    );
    expect(() => createTranscoder(undefined as never)).toThrow(
      'The options must be an object; got undefined.',
    );
  });

  it('has its default if it is undefined', async () => {
    const names = ['maxBodyBytes', 'deadlineMs', 'maxRequests', 'json', 'realm', 'forwardedHeaders', 'now'];
    const unset = Object.fromEntries(names.map((name) => [name, undefined]));
    const gateway = await openTranscoder(untyped(unset));
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ theme: 'a'.repeat(70_000) });
    const large = { method: 'POST', path: '/v1/shelves', headers, body };
    expect((await httpRequest(gateway.origin, large)).status).toBe(401);
    expect((await httpRequest(gateway.origin, { path: '/v1/shelves/1' })).headers['www-authenticate']).toBe(
      'Bearer realm="library.v1"',
    );
  });
});

it('an option of describe alone is refused if it is of another kind', () => {
  expect(() => describeContract(untyped({ ...REQUIRED, servers: 'a' }))).toThrow(
    'The option "servers" must be an array of objects; got "a".',
  );
});

it('an option of grpcUpstream is refused if it is of another kind', () => {
  expect(() => grpcUpstream('127.0.0.1:1', untyped({}))).toThrow('The option "credentials" is required.');
  expect(() => grpcUpstream('127.0.0.1:1', untyped({ ...CHANNEL, maxReplyBytes: '4mb' }))).toThrow(
    'The option "maxReplyBytes" must be a whole number from 1, or Infinity; got "4mb".',
  );
  expect(() => grpcUpstream(untyped({}), CHANNEL)).toThrow(
    'The option "target" must be a string; got an object.',
  );
  grpcUpstream('127.0.0.1:1', untyped({ ...CHANNEL, maxReplyBytes: undefined })).close();
});

it('an option of reflect and followContract is refused if it is of another kind', async () => {
  const wrong = untyped({ ...CHANNEL, deadlineMs: '10s' });
  const refused = 'The option "deadlineMs" must be a number of milliseconds';
  await expect(reflect('127.0.0.1:1', wrong)).rejects.toThrow(refused);
  await expect(followContract('127.0.0.1:1', wrong, untyped({}))).rejects.toThrow(refused);
  await expect(followContract('127.0.0.1:1', CHANNEL, untyped({}))).rejects.toThrow(
    'The option "listener" must be an object with `contract()`, `waiting()`, `failed()`; got an object.',
  );
});
