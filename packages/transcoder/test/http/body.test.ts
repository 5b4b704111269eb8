import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { expect, it } from 'vitest';
import { receiveBody } from '../../src/http/body.js';

it('a body is refused if its client disconnects before it is read', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.write('POST / HTTP/1.1\r\nHost: library\r\nContent-Length: 9\r\n\r\n{"thin');
  const [request] = (await once(server, 'request')) as [IncomingMessage];
  const gone = new Promise((resolve) => request.on('error', () => undefined).on('close', resolve));
  client.destroy();
  await gone;
  await expect(receiveBody(request, 1_024)).rejects.toMatchObject({ reason: 'REQUEST_MALFORMED' });
  server.close();
});
