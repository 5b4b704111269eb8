import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { resolve } from 'node:path';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { FieldDescriptorProto_Type, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { ServerCredentials } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { certificates } from '../../../client/test/support/certificates.js';
import { Code } from '../../src/gen/google/rpc/code_pb.js';
import { StatusSchema } from '../../src/gen/google/rpc/status_pb.js';
import { Deferred } from '../support/deferred.js';
import { errorOf, httpRequest, reasonOf, rawExchange } from '../support/http-request.js';
import { greeterDescriptorSet, libraryDescriptorSet, withRule } from '../support/library-contract.js';
import { opening } from '../support/opening.js';
import { type Reflecting, startReflecting } from '../support/reflecting-server.js';
import { eventually, fileWith, originOf, runToEnd, startCommand } from '../support/running-command.js';

const start = async (reflecting?: Reflecting) => opening(await startReflecting(reflecting));

/** The address of a server that has stopped. */
async function goneServer(): Promise<string> {
  const server = await startReflecting();
  server.close();
  return server.address;
}

const textOf = async (origin: string, path: string) => (await httpRequest(origin, { path })).text;

describe('the command', () => {
  it('serves what a server describes, and prints the paths that it serves and the methods that it leaves out', async () => {
    const { address } = await start();
    const command = startCommand('--target', address);
    const origin = await originOf(command);
    expect(JSON.parse(await textOf(origin, '/v1/greetings/Ada'))).toEqual({ text: 'Greet Ada' });
    expect(await textOf(origin, '/v1/greetings/Ada:repeat')).toBe('{"text":"Repeat Ada"}\n'.repeat(3));
    expect(command.lines).toEqual([
      'Left out: 3 methods without an HTTP rule, see --all.',
      'GET    /v1/greetings/{name}',
      'GET    /v1/greetings/{name}:repeat',
      `${address} is served at ${origin}, with a page to try it at ${origin}/docs`,
    ]);
    expect(command.complaints).toEqual([]);
  });

  it('listens no more once it is stopped', async () => {
    const { address } = await start();
    const command = startCommand('--target', address);
    const origin = await originOf(command);
    command.stop();
    await expect(command.code).resolves.toBe(0);
    await expect(fetch(origin)).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } });
  });

  it('serves methods without a rule with --all, and the others by their rules', async () => {
    const { address } = await start();
    const command = startCommand('--target', address, '--all');
    const origin = await originOf(command);
    const post = (path: string, body: string) =>
      httpRequest(origin, { method: 'POST', path, headers: { 'content-type': 'application/json' }, body });
    expect(JSON.parse((await post('/greeter.v1.Greeter/Wave', '{"name":"Ada"}')).text)).toEqual({
      text: 'Wave Ada',
    });
    expect((await post('/greeter.v1.Greeter/Applaud', '{"name":"Ada"}')).text).toBe(
      '{"text":"Applaud Ada"}\n'.repeat(3),
    );
    expect(reasonOf(await post('/greeter.v1.Greeter/Greet', '{}'))).toBe('PATH_UNKNOWN');
    expect(await textOf(origin, '/v1/greetings/Ada')).toBe('{"text":"Greet Ada"}');
    expect(JSON.parse(await textOf(origin, '/openapi.json'))).toMatchObject({
      paths: { '/greeter.v1.Greeter/Wave': { post: {} } },
    });
    expect(command.lines).toContain(
      'Left out: greeter.v1.Greeter.Chat: streams of requests are not supported.',
    );
  });

  it('serves a method whose rule cannot be served with --all, says why, and recommends no --all', async () => {
    const descriptorSet = withRule('HoldBody', { pattern: { case: 'get', value: '/**/a/**' } });
    const { address } = opening(
      await startReflecting({ descriptorSet, listed: ['library.v1.Library', 'library.v1.Unsupported'] }),
    );
    const [bare, all] = [startCommand('--target', address), startCommand('--target', address, '--all')];
    await Promise.all([originOf(bare), originOf(all)]);
    const reason = 'Left out: library.v1.Unsupported.HoldBody: the path template "/**/a/**" has "**" twice.';
    expect(bare.lines.filter((line) => line.includes('HoldBody'))).toEqual([reason]);
    expect(all.lines.filter((line) => line.includes('HoldBody'))).toEqual([
      reason,
      'POST   /library.v1.Unsupported/HoldBody',
    ]);
    expect(all.lines.join()).not.toContain('--all');
  });

  it('takes and refuses requests as the transcoder does, such as one in HTTP/1.0 without Host', async () => {
    const { address } = await start();
    const origin = await originOf(startCommand('--target', address));
    expect(await rawExchange(origin, 'GET /v1/greetings/Ada HTTP/1.0\r\n\r\n')).toContain('Greet Ada');
    const unknown = await httpRequest(origin, { path: '/v1/greetings/Ada?unknown=1' });
    expect(errorOf(unknown)).toMatchObject({ code: 400, status: 'INVALID_ARGUMENT' });
    expect(await rawExchange(origin, 'no HTTP\r\n\r\n')).toContain('"reason":"REQUEST_MALFORMED"');
    expect(await rawExchange(origin, 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n')).toContain('"error":');
  });

  it('leads a browser from the root to the page, unless the contract has a method there', async () => {
    const browser = { path: '/', headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } };
    const { address } = await start();
    const origin = await originOf(startCommand('--target', address));
    expect(await httpRequest(origin, browser)).toMatchObject({ status: 302, headers: { location: 'docs' } });
    expect((await httpRequest(origin, { path: '/' })).status).toBe(404);
    const descriptorSet = withRule('HoldBody', { pattern: { case: 'get', value: '/' } });
    const rooted = startCommand('--target', address, '--descriptors', fileWith(descriptorSet));
    expect(await httpRequest(await originOf(rooted), browser)).toMatchObject({ status: 501 });
  });

  it('prints a line about each request, also of one that it refuses itself or cannot read', async () => {
    const { address } = await start();
    const command = startCommand('--target', address);
    const origin = await originOf(command);
    await textOf(origin, '/v1/greetings/Ada?unknown=1');
    await textOf(origin, '/v1/greetings/Ada');
    await textOf(origin, '/docs');
    await httpRequest(origin, { path: '/v1/greetings/Ada', headers: { host: 'pages.example' } });
    await rawExchange(origin, 'no HTTP\r\n\r\n');
    expect(command.requests).toEqual([
      'GET /v1/greetings/Ada 400 REQUEST_MALFORMED',
      'GET /v1/greetings/Ada 200',
      'GET /docs 200',
      'GET /v1/greetings/Ada 403 PERMISSION_DENIED',
      '400 REQUEST_MALFORMED',
    ]);
  });

  it('prints a line about a request whose client leaves', async () => {
    const { address } = await start({ held: new Promise(() => undefined) });
    const command = startCommand('--target', address);
    const origin = await originOf(command);
    const leaving = new AbortController();
    const response = await fetch(`${origin}/v1/greetings/Ada:repeat`, { signal: leaving.signal });
    expect(response.status).toBe(200);
    leaving.abort();
    await eventually(() => command.requests).toEqual(['GET /v1/greetings/Ada:repeat client gone']);
  });

  it('keeps idle connections for 75 s', async () => {
    const { address } = await start();
    const origin = await originOf(startCommand('--target', address));
    const { headers } = await httpRequest(origin, {
      path: '/v1/greetings/Ada',
      headers: { connection: 'keep-alive' },
    });
    expect(headers['keep-alive']).toMatch(/^timeout=75\b/);
  });

  it('serves the contract in the file that --descriptors names, and prints why the server cannot be reached', async () => {
    const target = await goneServer();
    const command = startCommand('--target', target, '--descriptors', fileWith(greeterDescriptorSet));
    const origin = await originOf(command);
    const response = await httpRequest(origin, { path: '/v1/greetings/Ada' });
    expect(reasonOf(response)).toBe('UPSTREAM_UNAVAILABLE');
    await eventually(() => command.complaints.join()).toContain(`ECONNREFUSED ${target}`);
    await startReflecting({ address: target, versions: [] }).then(opening);
    await eventually(() => textOf(origin, '/v1/greetings/Ada')).toBe('{"text":"Greet Ada"}');
  });

  it.each(['localhost', '127.0.0.1'])('connects with TLS to %s', async (host) => {
    const { cert, key } = certificates.server;
    const identity = ServerCredentials.createSsl(null, [{ cert_chain: cert, private_key: key }]);
    const { address } = await start({ identity });
    const target = address.replace('127.0.0.1', host);
    const trusting = startCommand('--target', target, '--ca', fileWith(certificates.ca.cert));
    expect(await textOf(await originOf(trusting), '/v1/greetings/Ada')).toBe('{"text":"Greet Ada"}');
    const doubting = startCommand('--target', target, '--tls');
    await eventually(() => doubting.lines.join()).toContain('unable to verify the first certificate');
  });
});

describe('a server that stops and starts', () => {
  it('is waited for, with 503 for requests meanwhile', async () => {
    const address = await goneServer();
    const unused = String((await goneServer()).split(':')[1]);
    const command = startCommand('--target', address, '--port', unused);
    const waiting = await httpRequest(`http://127.0.0.1:${unused}`, { path: '/' });
    expect(errorOf(waiting)).toMatchObject({ code: 503, message: `Waiting for ${address}.` });
    await eventually(() => command.lines).toEqual([
      `Waiting: ${address} cannot be reached: connect ECONNREFUSED ${address}.`,
    ]);
    await start({ address });
    expect(await textOf(await originOf(command), '/v1/greetings/Ada')).toBe('{"text":"Greet Ada"}');
  });

  it('is waited for, with one printed line for each reason', async () => {
    let connections = 0;
    const rude = createServer((socket) => {
      connections += 1;
      socket.destroy();
    });
    await once(opening(rude).listen(0, '127.0.0.1'), 'listening');
    const command = startCommand('--target', `127.0.0.1:${(rude.address() as AddressInfo).port}`);
    await eventually(() => connections).toBeGreaterThan(6);
    expect(command.lines).toEqual([...new Set(command.lines)]);
  });

  it('is asked again after a lost connection, and nothing is printed if its contract is the same', async () => {
    const server = await start();
    const { address, questions } = server;
    const command = startCommand('--target', address);
    await originOf(command);
    const told = [...command.lines];
    server.disconnect();
    await eventually(() => questions.filter((asked) => asked === 'listServices *')).toHaveLength(2);
    await eventually(() => questions).toHaveLength(4);
    expect(command.lines).toEqual(told);
  });

  it('is served again, with its new contract if it has changed', async () => {
    const first = await start();
    const { address } = first;
    const command = startCommand('--target', address);
    const origin = await originOf(command);
    first.close();
    await eventually(() => command.lines.at(-1)).toContain('Waiting: ');
    const second = await start({ address });
    await eventually(() => command.lines.at(-1)).toBe(`${address} is back, with the same contract.`);
    second.close();
    await eventually(() => command.lines.at(-1)).toContain('Waiting: ');
    const third = await start({
      address,
      descriptorSet: libraryDescriptorSet,
      listed: ['library.v1.Library', 'library.v1.Probe'],
    });
    await eventually(() => command.lines.at(-1)).toContain(' is served at ');
    expect(command.lines).toContain('Left out: 1 method without an HTTP rule, see --all.');
    const document = await textOf(origin, '/openapi.json');
    expect(JSON.parse(document)).toMatchObject({ info: { title: 'library.v1' } });
    expect(reasonOf(await httpRequest(origin, { path: '/v1/greetings/Ada' }))).toBe('PATH_UNKNOWN');
    third.close();
    await eventually(() => command.lines.at(-1)).toContain('Waiting: ');
    await start({ address, versions: [] });
    await eventually(() => command.complaints.at(-1)).toContain(
      `transcoder: ${address} has no server reflection.`,
    );
    expect(await textOf(origin, '/openapi.json')).toBe(document);
  });
});

describe('a type that only the details of an error name', () => {
  const NAMES = ['Mood', 'Reason'];
  const PREFIX = 'type.googleapis.com/greeter.v1.';
  const set = fromBinary(FileDescriptorSetSchema, greeterDescriptorSet);
  const descriptorSet = toBinary(
    FileDescriptorSetSchema,
    create(FileDescriptorSetSchema, {
      file: [
        ...set.file,
        ...NAMES.map((name) => ({
          name: `${name}.proto`,
          package: 'greeter.v1',
          syntax: 'proto3',
          messageType: [
            { name, field: [{ name: 'text', number: 1, type: FieldDescriptorProto_Type.STRING }] },
          ],
        })),
      ],
    }),
  );
  /** With the text "hi" in each. */
  const details = [...NAMES, 'Lacking'].map((name) => ({
    typeUrl: `${PREFIX}${name}`,
    value: Buffer.from('\x0a\x02hi'),
  }));
  const failure = toBinary(StatusSchema, create(StatusSchema, { code: Code.NOT_FOUND, details }));
  const asBytes = (name: string) => ({ '@type': `${PREFIX}${name}`, value: 'CgJoaQ==' });
  const served = ({ lines }: ReturnType<typeof startCommand>): string[] =>
    lines.filter((line) => line.includes(' is served at '));
  const failed = async (origin: string) =>
    errorOf(await httpRequest(origin, { path: '/v1/greetings/Ada' })).details;

  it('is bytes, until the server has been asked for it; all of a reply in one new contract', async () => {
    const { address, questions } = await start({ descriptorSet, failure });
    const command = startCommand('--target', address);
    const origin = await originOf(command);
    const told = [...command.lines];
    expect(await failed(origin)).toMatchObject([...NAMES, 'Lacking'].map(asBytes));
    await eventually(() => served(command)).toHaveLength(2);
    expect(await failed(origin)).toMatchObject([
      { '@type': `${PREFIX}Mood`, text: 'hi' },
      { '@type': `${PREFIX}Reason`, text: 'hi' },
      asBytes('Lacking'),
    ]);
    expect(command.lines).toEqual([...told, told.at(-1)]);
    expect(questions.filter((asked) => asked.endsWith('.Lacking'))).toHaveLength(1);
    expect(command.complaints).toEqual([]);
  });

  it('leaves a stream that is open to the contract that it began with', async () => {
    const end = new Deferred();
    const { address } = await start({ descriptorSet, failure, held: end.promise });
    const command = startCommand('--target', address);
    const origin = await originOf(command);
    const response = await fetch(`${origin}/v1/greetings/Ada:repeat`);
    await failed(origin);
    await eventually(() => served(command)).toHaveLength(2);
    end.resolve();
    expect(await response.text()).toBe('{"text":"Repeat Ada"}\n'.repeat(3));
  });
});

describe('a command that exits', () => {
  it('says that its port is in use, that the server has no reflection, or that there is nothing to serve', async () => {
    const { address } = await start({ versions: [] });
    const failed = await runToEnd('--target', address, '--port', '0');
    expect(failed).toMatchObject({
      code: 1,
      complaint: expect.stringMatching(
        /^transcoder: \S+ has no server reflection\. .*--descriptors FILE.*buf build -o FILE.*protoc --include_imports --descriptor_set_out=FILE.*\n$/,
      ) as string,
    });
    const port = String(address.split(':')[1]);
    expect((await runToEnd('--target', address, '--port', port)).complaint).toContain('EADDRINUSE');
    const nothing = await runToEnd('--target', address, '--port', '0', '--descriptors', fileWith(''));
    expect(nothing).toMatchObject({
      code: 1,
      complaint: 'transcoder: No method of the contract can be served by google.api.http.\n',
    });
  });

  it('prints its help and its version', async () => {
    const help = await runToEnd('--help');
    expect(help).toMatchObject({ code: 0, complaint: '' });
    expect(help.printed).toContain('--target HOST:PORT');
    const { version } = JSON.parse(
      readFileSync(resolve(import.meta.dirname, '../../package.json'), 'utf8'),
    ) as {
      version: string;
    };
    expect(await runToEnd('--version')).toEqual({ code: 0, printed: `${version}\n`, complaint: '' });
  });
});
