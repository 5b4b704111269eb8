import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { ArrivingBody } from '../../src/http/body.js';
import { listening } from '../support/opening.js';

it('a body is refused if its client disconnects before it is read', async () => {
  const server = createServer();
  const client = connect(Number(new URL(await listening(server)).port), '127.0.0.1');
  client.write('POST / HTTP/1.1\r\nHost: library\r\nContent-Length: 9\r\n\r\n{"thin');
  const [request] = (await once(server, 'request')) as [IncomingMessage];
  const gone = new Promise((resolve) => request.on('error', () => undefined).on('close', resolve));
  client.destroy();
  await gone;
  await expect(new ArrivingBody(request, 1_024).whole).rejects.toMatchObject({ reason: 'REQUEST_MALFORMED' });
});
