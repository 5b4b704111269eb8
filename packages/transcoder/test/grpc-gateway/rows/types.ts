import { alike, alikeIfLenient, differ, type Row, send } from '../row.js';

export const types: readonly Row[] = [
  ...alike(
    send('POST', '/v1/echo', '{"int32Value":1}', { 'Content-Type': 'application/json' }),
    send('POST', '/v1/echo', '{"int32Value":1}', { 'Content-Type': 'application/json; charset=utf-8' }),
    send('POST', '/v1/echo', '{"int32Value":1}', { 'Content-Type': 'APPLICATION/JSON' }),
    send('GET', '/v1/echo', undefined, { Accept: 'text/html' }),
    send('GET', '/v1/echo', undefined, { Accept: 'application/octet-stream' }),
    send('POST', '/v1/echo', '{}', { 'Content-Encoding': 'identity' }),
  ),
  ...differ(
    'contentType',
    send('POST', '/v1/echo', '{"int32Value":1}', { 'Content-Type': 'application/json; charset=latin1' }),
    send('POST', '/v1/echo', '{"int32Value":1}', { 'Content-Type': 'text/plain' }),
    send('POST', '/v1/echo', '{"int32Value":1}', { 'Content-Type': 'text/json' }),
    send('POST', '/v1/echo', '{"int32Value":1}', { 'Content-Type': 'application/json-patch+json' }),
    send('POST', '/v1/echo', '{"int32Value":1}', { 'Content-Type': 'application/xml' }),
    send('POST', '/v1/echo', '{"int32Value":1}', { 'Content-Type': 'application/octet-stream' }),
    send('POST', '/v1/echo', '{"int32Value":1}', { 'Content-Type': '*/*' }),
    send('POST', '/v1/echo', '{}', { 'Content-Encoding': 'gzip' }),
  ),
  ...alikeIfLenient(
    'patchType',
    send('POST', '/v1/echo', '{"int32Value":1}', { 'Content-Type': 'application/merge-patch+json' }),
    send('POST', '/v1/echo', '{"int32Value":1}', {
      'Content-Type': 'application/merge-patch+json; charset=utf-8',
    }),
    send('POST', '/v1/echo', '{"int32Value":1}', { 'Content-Type': '' }),
    send('PATCH', '/v1/books/1', '{"title":"T"}', { 'Content-Type': 'application/merge-patch+json' }),
    send('PATCH', '/v1/books/1', '{"title":"T"}', { 'Content-Type': '' }),
  ),
  ...differ(
    'override',
    send('POST', '/v1/echo', 'int32_value=1', { 'Content-Type': 'application/x-www-form-urlencoded' }),
  ),
  ...alikeIfLenient('emptyBody', send('GET', '/v1/echo', '{}', { 'Content-Type': '' })),
];
