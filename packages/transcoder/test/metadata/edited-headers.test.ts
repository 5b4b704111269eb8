import type { JsonObject } from '@bufbuild/protobuf';
import type { IncomingHttpHeaders } from 'node:http';
import { describe, expect, it } from 'vitest';
import { FORWARDED_HEADERS, type ForwardedHeaders } from '../../src/metadata/forwarded-headers.js';
import { httpRequest } from '../support/http-request.js';
import { MEMBER } from '../support/library-server.js';
import { openTranscoder } from '../support/library-transcoder.js';

describe('a header that the application has', () => {
  const forwardedHeaders: ForwardedHeaders = new Map([
    ...FORWARDED_HEADERS,
    ['x-user', 'refuse'],
    ['x-*', 'refuse'],
  ]);
  /** The metadata of a call after the application has edited the headers. Of `x-*`, the keys are without the `x-`. */
  const metadataAfter = async (edit: (headers: IncomingHttpHeaders) => void): Promise<JsonObject> => {
    const { origin } = await openTranscoder({ forwardedHeaders }, {}, (handler) => (request, response) => {
      edit(request.headers);
      handler(request, response);
    });
    // The method echoes its metadata.
    const headers = { authorization: MEMBER, 'x-user': 'root', 'x-lines': ['a', 'b'], constructor: 'c' };
    return JSON.parse((await httpRequest(origin, { path: '/v1/metadata', headers })).text) as JsonObject;
  };

  it.each<
    [how: string, edit: (headers: IncomingHttpHeaders) => void, key: string, value: string | undefined]
  >([
    ['left alone counts as sent', () => undefined, 'lines', 'a, b'],
    ['deleted is not forwarded', (headers) => delete headers['x-user'], 'x-user', undefined],
    ['unset is not forwarded', (headers) => (headers['x-user'] = undefined), 'x-user', undefined],
    ['replaced is forwarded so', (headers) => (headers['x-user'] = 'ann'), 'x-user', 'ann'],
    ['replaced by one of several is forwarded so', (headers) => (headers['x-lines'] = 'a'), 'lines', 'a'],
    ['set is forwarded', (headers) => (headers['x-tenant'] = ['a', 'b']), 'tenant', 'a, b'],
    ['set to a number is forwarded', (headers) => Object.assign(headers, { 'x-age': 7 }), 'age', '7'],
  ])('%s', async (_, edit, key, value) => {
    expect((await metadataAfter(edit))[key]).toBe(value);
  });

  it('replaced authenticates the request', async () => {
    const { origin } = await openTranscoder({}, {}, (handler) => (request, response) => {
      request.headers.authorization = MEMBER;
      handler(request, response);
    });
    const wrong = { authorization: 'Bearer wrong' };
    expect((await httpRequest(origin, { path: '/v1/shelves/1', headers: wrong })).status).toBe(200);
  });
});
