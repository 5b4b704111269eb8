import { alike, alikeIfLenient, differ, differIfLenient, type Row, send } from '../row.js';

export const headers: readonly Row[] = [
  ...alike(
    send('GET', '/v1/metadata', undefined, { Authorization: 'Bearer a' }),
    send('GET', '/v1/metadata', undefined, { 'X-Tenant': 'a' }),
    send('GET', '/v1/metadata'),
    send('GET', '/v1/waits/0', undefined, { 'Grpc-Timeout': '1S' }),
    send('GET', '/v1/waits/0', undefined, { 'Grpc-Timeout': '10000m' }),
    send('GET', '/v1/waits/0', undefined, { 'Grpc-Timeout': '1H' }),
    send('GET', '/v1/waits/0', undefined, { 'Grpc-Timeout': '1M' }),
    send('GET', '/v1/waits/0', undefined, { 'Grpc-Timeout': '9999999u' }),
    send('GET', '/v1/waits/0', undefined, { 'Grpc-Timeout': '99999999n' }),
    send('GET', '/v1/waits/2000', undefined, { 'Request-Timeout': '1', 'Grpc-Timeout': '50m' }),
  ),
  ...differ(
    'metadata',
    send('GET', '/v1/metadata', undefined, {
      Traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    }),
    send('GET', '/v1/metadata', undefined, { 'Grpc-Metadata-X-Tenant': 'a' }),
  ),
  ...alikeIfLenient(
    'timeout',
    send('GET', '/v1/waits/0', undefined, { 'Grpc-Timeout': '5' }),
    send('GET', '/v1/waits/0', undefined, { 'Grpc-Timeout': 'S' }),
    send('GET', '/v1/waits/0', undefined, { 'Grpc-Timeout': '1s' }),
    send('GET', '/v1/waits/0', undefined, { 'Grpc-Timeout': '1.5S' }),
    send('GET', '/v1/waits/0', undefined, { 'Grpc-Timeout': '1 S' }),
    send('GET', '/v1/waits/2000', undefined, { 'Grpc-Timeout': '50m' }),
  ),
  ...differIfLenient(
    'wrongTimeout',
    send('GET', '/v1/waits/0', undefined, { 'Grpc-Timeout': '0S' }),
    send('GET', '/v1/waits/0', undefined, { 'Grpc-Timeout': '0m' }),
    send('GET', '/v1/waits/0', undefined, { 'Grpc-Timeout': '123456789S' }),
  ),
  ...differ(
    'wrongTimeout',
    send('GET', '/v1/waits/0', undefined, { 'Grpc-Timeout': '-1S' }),
    send('GET', '/v1/waits/2000', undefined, { 'Request-Timeout': '0.05' }),
  ),
  ...differ('timeout', send('GET', '/v1/waits/0', undefined, { 'Request-Timeout': 'x' })),
];
