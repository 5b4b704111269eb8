import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../support/free-port.js';
import { callRaw, frameMessage } from '../support/http2-call.js';
import { sendFields } from '../support/http2-frames.js';
import { type Ended, moduleUrl, Programs } from '../support/process.js';
import { SERVICE_SETTINGS, tokenFor } from '../support/service.js';

const GET = '/routing.v1.RouteService/GetRoute';
const CREATE = '/routing.v1.RouteService/CreateRoute';

/** Each token is sent in every request below. */
const TOKENS: readonly (readonly [string, string])[] = [
  ['valid token', tokenFor()],
  ['expired token', tokenFor({ exp: 1 })],
  ['token without a scope', tokenFor({ scope: '' })],
  ['token of another issuer', tokenFor({ iss: 'https://elsewhere.test' })],
  ['token with an invalid claim', tokenFor({ aud: 5 })],
  ['token with a forged signature', `${tokenFor().slice(0, -20)}forgedForgedForged00`],
  ['token that is not a JWT', 'swordfish-swordfish-swordfish-swordfish'],
];

/** Fragments of a secret that would reveal it, in the encodings that a log could use. */
function traces(secret: string): string[] {
  const [, payload = secret] = secret.split('.');
  return [payload.slice(0, 24), secret.slice(-16)].flatMap((part) => {
    const bytes = Buffer.from(part);
    return [part, bytes.toString('hex'), JSON.stringify([...bytes]).slice(1, -1)];
  });
}

/** Sends bytes to an HTTP server and waits until it closes the connection. */
async function sendHttp(url: string, bytes: Buffer | string): Promise<void> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  socket
    .resume()
    .setTimeout(5_000, () => socket.destroy())
    .write(bytes);
  await once(socket, 'close');
}

const request = (target: string, ...lines: string[]): string =>
  [`GET ${target} HTTP/1.1`, 'Host: x', 'Connection: close', ...lines, '', ''].join('\r\n');

/** HTTP requests that carry the token, in valid and invalid places. */
function httpRequests(token: string): readonly (Buffer | string)[] {
  const bearer = `Authorization: Bearer ${token}`;
  const body = (text: string): string =>
    request('/v1/routing', bearer, 'Content-Type: application/json', `Content-Length: ${text.length}`)
      .replace('GET', 'POST')
      .concat(text);
  return [
    request('/v1/routing/x', bearer),
    request('/v1/routing/x', `${bearer}\x01`),
    Buffer.from(request('/v1/routing/x', `${bearer}\xff\xe9`), 'latin1'),
    request('/v1/routing/x', bearer, bearer),
    request('/v1/routing/x', `Authorization: Basic ${token}`),
    request('/v1/routing/x', `Authorization: Bearer\t${token}`),
    request('/v1/routing/x', `Authorization : Bearer ${token}`),
    request('/v1/routing/x', bearer, `X-Token: ${token}`, `Cookie: t=${token}`),
    request('/v1/routing/x', bearer, `Traceparent: ${token}`, `Idempotency-Key: ${token} é`),
    request('/v1/routing/x', bearer, `Request-Timeout: ${token}`, `If-Match: ${token}`),
    request('/v1/routing/x', bearer, `X-Request-Id: ${token.padEnd(129, 'x')}`),
    request('/v1/routing/x', bearer, `Transfer-Encoding: ${token}`),
    request('/v1/routing/x', bearer, `Host: ${token}`),
    request('/v1/routing/x', bearer, `Expect: ${token}`),
    request('/v1/routing/x', bearer).replace('HTTP/1.1', `HTTP/${token}`),
    request('/v1/routing/x', bearer).replace('GET', token),
    request('/v1/routing/x', bearer).replace('GET', 'CONNECT'),
    request('/v1/routing/x', bearer, 'no colon'),
    request(`/v1/routing/x?access_token=${token}`, bearer),
    request(`/v1/routing/${token}`, bearer),
    request(`/v1/routing/%zz${token}`, bearer),
    request(`/unknown/${token}?t=${token}#${token}`),
    request(`http://user:${token}@x/v1/routing/x`, bearer),
    body(token),
    body(`{"${token}":1}`),
    body(`{"method":"${token} ","path":"${token}","handler":"\\u0000${token}"}`),
    `${token}\r\n\r\n`,
    `PRI * HTTP/2.0\r\n\r\n${bearer}`,
  ];
}

type Fields = Readonly<Record<string, string>>;

/** Paths, headers and bodies of gRPC calls that carry the token, in valid and invalid places. */
function grpcCalls(token: string): readonly (readonly [string, Fields, Buffer])[] {
  const authorization = `Bearer ${token}`;
  const text = frameMessage(Buffer.from(token));
  return [
    [GET, { authorization }, frameMessage(Buffer.alloc(0))],
    [GET, { authorization }, text],
    [CREATE, { authorization }, text],
    [GET, { authorization: `${authorization}é` }, text],
    [GET, { authorization, 'x-token': token, 'x-other': `${token}é` }, text],
    [GET, { authorization, 'x-token-bin': `${token}?` }, text],
    [GET, { authorization, 'grpc-timeout': token }, text],
    [GET, { authorization, 'grpc-encoding': token }, text],
    [GET, { authorization, 'x-request-id': token.padEnd(129, 'x') }, text],
    [GET, { authorization, 'idempotency-key': `${token}é` }, text],
    [GET, { authorization, 'content-type': `application/grpc+${token}` }, text],
    [`/x?t=${token}`, { authorization }, text],
    [`${GET}?t=${token}`, { authorization }, text],
  ];
}

/** Header fields that no HTTP/2 library would send. */
function rawFields(token: string): readonly (readonly [string, string])[][] {
  const head = [
    [':method', 'POST'],
    [':scheme', 'http'],
    [':path', GET],
    ['content-type', 'application/grpc'],
    ['te', 'trailers'],
  ] as const;
  const authorization = ['authorization', `Bearer ${token}`] as const;
  return [
    [...head, ['authorization', `Bearer ${token}\x01`]],
    [...head, ['authorization', `Bearer ${token}\u{1F511}`]],
    [...head, authorization, authorization],
    [...head, authorization, ['Upper', token]],
    [...head, authorization, ['x y', token]],
    [...head, authorization, [':path', `/${token}`]],
    [...head, authorization, ['connection', token]],
    [authorization],
  ];
}

/** Ends the log's rate-limiting windows of one second at once, so that hardly any line is left out. */
const WITHOUT_SECONDS = moduleUrl(`
  const { setTimeout } = globalThis;
  globalThis.setTimeout = (act, ms, ...rest) => setTimeout(act, ms === 1_000 ? 0 : ms, ...rest);
`);

describe('no secret of a request or a setting is logged', () => {
  const { JWT_SECRET } = SERVICE_SETTINGS;
  const programs = new Programs();
  let logs: Record<string, Ended>;

  beforeAll(async () => {
    const settings = {
      ...SERVICE_SETTINGS,
      LOG_LEVEL: 'trace',
      NODE_OPTIONS: `--import ${WITHOUT_SECONDS}`,
    };
    const database = { DATABASE_URL: 'sqlite::memory:' };
    const service = programs.start('main', [], { ...settings, ...database });
    const { grpc, http } = await service.line('listening');
    const apart = { ROLE: 'gateway', GRPC_UPSTREAM: String(grpc) };
    const gateway = programs.start('main', [], { ...settings, ...apart });
    const urls = [String(http), String((await gateway.line('listening'))['http'])];
    for (const [, token] of TOKENS) {
      for (const url of urls) await Promise.all(httpRequests(token).map((bytes) => sendHttp(url, bytes)));
      const calls = grpcCalls(token).map(([path, fields, body]) => callRaw(String(grpc), path, fields, body));
      const raw = rawFields(token).map(async (fields) => {
        const socket = sendFields(String(grpc), fields, frameMessage(Buffer.from(token)));
        await once(socket.on('error', () => undefined).resume(), 'close');
      });
      await Promise.allSettled([...calls, ...raw]);
    }
    logs = { service: await service.stop(), gateway: await gateway.stop() };
  }, 60_000);

  afterAll(() => programs.end());

  const names = ['service', 'gateway'];
  const secrets = [...TOKENS, ['signing secret', JWT_SECRET] as const];

  it.each(names.flatMap((program) => secrets.map(([name, text]) => ({ program, name, text }))))(
    'by the $program: the $name',
    ({ program, text }) => {
      const { stdout = '', stderr = '' } = logs[program] ?? {};
      for (const trace of traces(text)) {
        const lines = `${stdout}${stderr}`.split('\n').filter((line) => line.includes(trace));
        expect(lines).toEqual([]);
      }
    },
  );

  it.each(names)('by the %s, which logs every refused request', (program) => {
    const refused = String(logs[program]?.stdout).match(/"msg":"request refused"/g) ?? [];
    expect(refused.length).toBeGreaterThan(TOKENS.length * 20);
  });

  it.each([
    ['main', 'DATABASE_URL'],
    ['migrate', 'DATABASE_URL_FILE'],
  ])('by %s: the password in %s, when the database cannot be reached', async (program, name) => {
    const password = 'swordfish-of-the-database';
    const url = `mysql://me:${password}@127.0.0.1:${await freePort()}/routes`;
    const file = join(programs.folder, 'url');
    writeFileSync(file, url);
    const settings = {
      ...SERVICE_SETTINGS,
      LOG_LEVEL: 'trace',
      NODE_OPTIONS: `--import ${WITHOUT_SECONDS}`,
    };
    const database = name === 'DATABASE_URL' ? { [name]: url } : { [name]: file };
    const { exitCode, stdout, stderr } = await programs.start(program, [], { ...settings, ...database })
      .ended;
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(
      /^(?:The service cannot start: )?The database named by DATABASE_URL cannot be reached: .*ECONNREFUSED.*\n$/,
    );
    expect(`${stdout}${stderr}`).not.toContain(password);
  });
});
