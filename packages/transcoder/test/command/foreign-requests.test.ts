import { type IncomingHttpHeaders, IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { isForeign } from '../../src/command/foreign-requests.js';
import { httpRequest, rawExchange, reasonOf } from '../support/http-request.js';
import { opening } from '../support/opening.js';
import { startReflecting } from '../support/reflecting-server.js';
import { originOf, startCommand } from '../support/running-command.js';

const GREETING = '/v1/greetings/Ada';

/** Starts the command in front of the greeter. Returns its origin. */
async function start(...args: readonly string[]): Promise<string> {
  const { address } = opening(await startReflecting());
  return originOf(startCommand('--target', address, ...args));
}

/** What a browser sends with a request that a page of another site makes it send. */
const from = (site: string, destination: string): IncomingHttpHeaders => ({
  'sec-fetch-site': site,
  'sec-fetch-dest': destination,
});

const ACCEPTED = { hosts: new Set(['transcoder.example']), linked: new Set(['/docs', '/openapi.json']) };

/** A request to localhost. */
function requestOf(method: string, url: string, headers: IncomingHttpHeaders): IncomingMessage {
  const request = new IncomingMessage(new Socket());
  return Object.assign(request, { method, url, headers: { host: 'localhost', ...headers } });
}

describe('a request is foreign', () => {
  it.each<[from: string, headers: IncomingHttpHeaders, isRefused: boolean]>([
    ['a program', {}, false],
    ['a program without Host', { host: undefined }, false],
    ['its own page under an allowed name', { host: 'TRANSCODER.example:8080' }, false],
    ['a host name below an allowed one', { host: 'a.transcoder.example' }, true],
    ['its own page', { origin: 'http://127.0.0.1:1', host: '127.0.0.1:1' }, false],
    ['its own page under another name', { origin: 'http://[::1]:1', host: '[::1]:1' }, false],
    ['its own page behind a proxy with TLS', { origin: 'https://localhost', host: 'localhost' }, false],
    ['its own page at an address of its network', { host: '192.168.1.2:8080' }, false],
    ['its own page, as browsers say', from('same-origin', 'empty'), false],
    ['a user, who has typed its address', from('none', 'document'), false],
    ['a page from another origin', { origin: 'https://pages.example' }, true],
    ['a page without an origin, such as a file', { origin: 'null' }, true],
    ['a page on another port', { origin: 'http://127.0.0.1:1' }, true],
    ['an image of another site', from('cross-site', 'image'), true],
    ['a frame of another site', from('cross-site', 'iframe'), true],
    ['an image of a page on another port', from('same-site', 'image'), true],
    ['a link of another site', from('cross-site', 'document'), true],
    ['a host name that resolves to 127.0.0.1', { host: 'pages.example:1' }, true],
    ['a host name that starts with localhost', { host: 'localhost.pages.example' }, true],
    ['a host name that ends with an address', { host: 'pages.127.0.0.1' }, true],
    ['a host name in brackets', { host: '[pages.example]' }, true],
    ['a host name with two ports', { host: 'localhost:1:1' }, true],
  ])('from %s, with %j: %s', (_, headers, expected) => {
    expect(isForeign(requestOf('GET', '/v1/greetings/Ada', headers), ACCEPTED)).toBe(expected);
  });

  it.each<[path: string, method: string, isRefused: boolean]>([
    ['/docs', 'GET', false],
    ['/openapi.json?a', 'GET', false],
    ['/docs', 'POST', true],
    ['/docs/swagger-ui.js', 'GET', true],
  ])('from a link of another site to %s, by %s: %s', (path, method, expected) => {
    const headers = from('cross-site', 'document');
    expect(isForeign(requestOf(method, path, headers), ACCEPTED)).toBe(expected);
  });
});

describe('the command', () => {
  it('has the same guard and the same pages for a client that waits for 100 before it sends its body', async () => {
    const origin = await start('--all');
    const exchange = (head: string) =>
      rawExchange(origin, `${head}Expect: 100-continue\r\nConnection: close\r\n\r\n{"name":"Ada"}`);
    const wave =
      'POST /greeter.v1.Greeter/Wave HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 14\r\n';
    expect(await exchange(`${wave}Host: localhost\r\n`)).toMatch(/^HTTP\/1.1 200 [^]*Wave Ada/);
    expect(await exchange(`${wave}Host: pages.example\r\n`)).toMatch(/^HTTP\/1.1 403 /);
    expect(await exchange(`${wave}Host: localhost\r\nOrigin: https://pages.example\r\n`)).toMatch(
      /^HTTP\/1.1 403 /,
    );
    expect(await exchange('GET /docs HTTP/1.1\r\nHost: localhost\r\n')).toContain(
      '<title>greeter.v1</title>',
    );
  });

  it('refuses foreign requests while it waits for the server', async () => {
    const [target, unused] = [await startReflecting(), await startReflecting()];
    for (const server of [target, unused]) server.close();
    const port = String(unused.address.split(':')[1]);
    const { lines } = startCommand('--target', target.address, '--port', port);
    await expect.poll(() => lines.join()).toContain('Waiting: ');
    const reply = (headers: OutgoingHttpHeaders) =>
      httpRequest(`http://127.0.0.1:${port}`, { path: '/', headers });
    const waiting = await reply({});
    expect([waiting.status, reasonOf(waiting)]).toEqual([503, 'UNAVAILABLE']);
    const foreign = await reply({ host: 'pages.example' });
    expect([foreign.status, reasonOf(foreign)]).toEqual([403, 'PERMISSION_DENIED']);
    expect(foreign.text).toContain(`"requestId":"${String(foreign.headers['x-request-id'])}"`);
  });

  it('listens where --host says, and answers for the names of --allow-host', async () => {
    const origin = await start('--host', '0.0.0.0', '--allow-host', 'Transcoder.Example');
    expect(origin).toMatch(/^http:\/\/localhost:\d+$/);
    const statusFor = async (host: string): Promise<number> =>
      (await httpRequest(origin, { path: GREETING, headers: { host } })).status;
    expect(await statusFor('transcoder.example:8080')).toBe(200);
    expect(await statusFor('other.example')).toBe(403);
    const other = await start('--host', '::1');
    expect(other).toMatch(/^http:\/\/\[::1\]:\d+$/);
  });
});
