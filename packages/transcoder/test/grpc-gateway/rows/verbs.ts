import { alike, differ, type Row, send } from '../row.js';

export const verbs: readonly Row[] = [
  ...alike(
    send('GET', '/v1/echo'),
    send('DELETE', '/v1/texts/a'),
    send('POST', '/v1/echo', '{"int32Value":1}', { 'X-HTTP-Method-Override': 'PATCH' }),
    send('GET', '/v1/nothing'),
    send('POST', '/v1/nothing', '{}'),
  ),
  ...differ('head', send('HEAD', '/v1/echo'), send('HEAD', '/v1/texts/a')),
  ...differ(
    'verbs',
    send('OPTIONS', '/v1/echo'),
    send('DELETE', '/v1/echo'),
    send('PUT', '/v1/echo'),
    send('TRACE', '/v1/echo'),
    send('LOCK', '/v1/echo'),
    send('POST', '/v1/texts/a'),
    send('PUT', '/v1/texts/a', '{}'),
    send('OPTIONS', '/v1/texts/a'),
    send('PATCH', '/v1/books', '{}'),
    send('GET', '/v1/books'),
  ),
  ...differ(
    'override',
    send('POST', '/v1/texts/a', '', {
      'X-HTTP-Method-Override': 'GET',
      'Content-Type': 'application/x-www-form-urlencoded',
    }),
  ),
];
