import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runningService } from '../support/running-service.js';
import { tokenFor } from '../support/service.js';

const ROUTE = '/v1/routing/0190163d-8694-739b-aea5-966c26f8ad90';
const BEARER = `Authorization: Bearer ${tokenFor()}\r\n`;
const INVALID = 'Authorization: Bearer invalid\r\n';
const BODY = '{"method":"GET","path":"/a","handler":"h"}';
const CREATE = `Content-Type: application/json\r\nContent-Length: ${BODY.length}\r\n`;

/** Sends a request on a connection. @returns the status, or `refused` if the connection is closed without a response */
async function statusOn(socket: Socket, head: string, body = ''): Promise<string> {
  socket.write(`${head}Host: x\r\n\r\n${body}`);
  return new Promise((resolve) => {
    socket
      .once('data', (data) => {
        resolve(String(data).slice(9, 12));
      })
      .once('close', () => {
        resolve('refused');
      });
  });
}

function openSocket(url: string): Socket {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname).on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  return socket;
}

describe('when all places for REST connections are taken, a new connection', () => {
  it.each([
    ['/healthz with a token', '200', `GET /healthz HTTP/1.1\r\n${BEARER}`, ''],
    ['an unknown path that is malformed', '404', 'GET //[ HTTP/1.1\r\n', ''],
    ['a method that a path lacks', '405', `PUT ${ROUTE} HTTP/1.1\r\n${BEARER}`, ''],
    ['a route without a token', '401', `GET ${ROUTE} HTTP/1.1\r\n`, ''],
    ['a route with an invalid token', '401', `GET ${ROUTE} HTTP/1.1\r\n${INVALID}`, ''],
    ['a create without a token', '401', `POST /v1/routing HTTP/1.1\r\n${CREATE}`, BODY],
  ])('replaces one that has asked for %s', async (_, answer, head, body) => {
    const { httpUrl } = await runningService({ settings: { MAX_CONNECTIONS: '1' } });
    const first = openSocket(httpUrl);
    expect(await statusOn(first, head, body)).toBe(answer);
    const closed = once(first, 'close');
    expect(await statusOn(openSocket(httpUrl), 'GET /healthz HTTP/1.1\r\n')).toBe('200');
    await closed;
  });

  it.each([
    ['a created route', '201', `POST /v1/routing HTTP/1.1\r\n${CREATE}${BEARER}`, BODY],
    ['a malformed body', '400', `POST /v1/routing HTTP/1.1\r\n${CREATE}${BEARER}`, BODY.replace('{', '[')],
    ['a media type', '415', `POST /v1/routing HTTP/1.1\r\nContent-Length: 1\r\n${BEARER}`, 'x'],
    ['a route that does not exist', '404', `GET ${ROUTE} HTTP/1.1\r\n${BEARER}`, ''],
    [
      'a missing scope',
      '403',
      `GET ${ROUTE} HTTP/1.1\r\nAuthorization: Bearer ${tokenFor({ scope: '' })}\r\n`,
      '',
    ],
  ])('does not replace one that has been told of %s', async (_, answer, head, body) => {
    const { httpUrl } = await runningService({ settings: { MAX_CONNECTIONS: '1' } });
    const first = openSocket(httpUrl);
    expect(await statusOn(first, head, body)).toBe(answer);
    expect(await statusOn(openSocket(httpUrl), 'GET /healthz HTTP/1.1\r\n')).toBe('refused');
    expect(await statusOn(first, 'GET /healthz HTTP/1.1\r\n')).toBe('200');
  });
});
