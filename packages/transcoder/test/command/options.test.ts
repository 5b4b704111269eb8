import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { Metadata, ServerCredentials, status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { certificates } from '../../../client/test/support/certificates.js';
import { shownOptions } from '../../src/command/options.js';
import { commandSettings } from '../../src/command/settings.js';
import { listen } from '../support/grpc-server.js';
import { errorOf, type HttpRequest, httpRequest, reasonOf } from '../support/http-request.js';
import { greeterDescriptorSet, libraryDescriptorSet } from '../support/library-contract.js';
import { libraryOverGrpc, MEMBER } from '../support/library-server.js';
import { opening } from '../support/opening.js';
import { asRecorded, type ReflectionCall, startReflecting } from '../support/reflecting-server.js';
import { eventually, fileWith, originOf, runToEnd, startCommand } from '../support/running-command.js';

const PROBE = '/library.v1.Probe';
const AUTHORIZED = ['-H', `Authorization: ${MEMBER}`];
const JSON_BODY = { 'content-type': 'application/json' };

/** Starts the command in front of a library. Returns the command, and a function that sends a request. */
async function start(...args: readonly string[]) {
  const initialMetadata = new Metadata();
  initialMetadata.set('x-quota', '7');
  initialMetadata.set('x-left', '5');
  const methods = ['Echo', 'Metadata', 'Hang'].map((name) => `${PROBE}/${name}`);
  const { address } = opening(await listen({ unary: libraryOverGrpc(initialMetadata) }, methods));
  const descriptors = fileWith(libraryDescriptorSet);
  const command = startCommand('--target', address, '--descriptors', descriptors, ...AUTHORIZED, ...args);
  const origin = await originOf(command);
  return { command, send: (request: HttpRequest) => httpRequest(origin, request) };
}

/** The metadata of a call for a request with these headers. */
async function metadataFor(headers: Record<string, string>, ...args: readonly string[]): Promise<unknown> {
  const { send } = await start(...args);
  return JSON.parse((await send({ path: '/v1/metadata', headers })).text);
}

const echo = (text: string): HttpRequest => ({
  method: 'POST',
  path: '/v1/echo',
  headers: JSON_BODY,
  body: text,
});

describe('the option', () => {
  it('--header is metadata of every call, whatever a request brings', async () => {
    const seen = await metadataFor(
      { authorization: 'Bearer other' },
      ...['--header', 'X-Tenant: a:b ', '-H', 'x-list:1', '-H', 'X-List: 2'],
    );
    expect(seen).toMatchObject({ authorization: MEMBER, 'x-tenant': 'a:b', 'x-list': '1, 2' });
  });

  it('--header is metadata of reflection', async () => {
    const seen: unknown[] = [];
    const { address } = opening(
      await startReflecting({
        reflection: (stream) => {
          seen.push(...stream.metadata.get('authorization'));
          asRecorded('v1')(stream);
        },
      }),
    );
    await originOf(startCommand('--target', address, '--all', '-H', 'authorization: Bearer mine'));
    expect(seen).toEqual(['Bearer mine']);
  });

  it('--forward makes headers metadata, under another key if it gives one', async () => {
    const headers = {
      'containerd-namespace': 'moby',
      'x-tenant': 'shop',
      'grpc-metadata-token': 't',
      'x-other': 'not forwarded',
      traceparent: '00-0123456789abcdef0123456789abcdef-0123456789abcdef-01',
    };
    const seen = await metadataFor(
      headers,
      ...[
        '--forward',
        'Containerd-Namespace',
        '--forward',
        'X-Tenant=tenant',
        '--forward',
        'Grpc-Metadata-*',
      ],
    );
    expect(seen).toMatchObject({
      'containerd-namespace': 'moby',
      tenant: 'shop',
      token: 't',
      traceparent: headers.traceparent,
    });
    expect(seen).not.toHaveProperty('x-other');
  });

  it('--response-header sends metadata as headers', async () => {
    const { send } = await start('--response-header', 'x-quota=X-Limit', '--response-header', 'x-left');
    expect((await send({ path: '/v1/metadata' })).headers).toMatchObject({ 'x-limit': '7', 'x-left': '5' });
  });

  it('--max-body is the largest body', async () => {
    const { send } = await start('--max-body', '20');
    expect((await send(echo('{"stringValue":"abc"}'))).status).toBe(413);
    expect((await send(echo('{"stringValue":"ab"}'))).status).toBe(200);
  });

  it('--max-reply is the largest reply, and a larger one is told on the terminal', async () => {
    const { send, command } = await start('--max-reply', '4');
    expect((await send(echo('{"stringValue":"ab"}'))).status).toBe(200);
    expect((await send(echo('{"stringValue":"abc"}'))).status).toBe(500);
    await eventually(() => command.complaints.join()).toContain('4');
  });

  it('--deadline is the time of a call', async () => {
    const { send } = await start('--deadline', '0.2');
    expect(reasonOf(await send({ path: '/v1/hang' }))).toBe('DEADLINE_EXCEEDED');
  });

  it('--stream-time is the time of a stream', async () => {
    const descriptors = fileWith(greeterDescriptorSet);
    const silent = createServer().on('stream', (stream) => {
      stream.on('error', () => undefined).respond({ 'content-type': 'application/grpc' });
    });
    await once(opening(silent).listen(0, '127.0.0.1'), 'listening');
    const { port } = silent.address() as AddressInfo;
    const command = startCommand(
      ...['--target', `127.0.0.1:${port}`, '--descriptors', descriptors, '--stream-time', '0.2'],
    );
    const response = await httpRequest(await originOf(command), { path: '/v1/greetings/Ada:repeat' });
    expect(reasonOf(response)).toBe('DEADLINE_EXCEEDED');
  });

  it('--lenient takes what grpc-gateway takes, and sends streams as it does', async () => {
    const { address } = opening(await startReflecting());
    const origin = await originOf(startCommand('--target', address, '--lenient'));
    const { text } = await httpRequest(origin, { path: '/v1/greetings/Ada:repeat' });
    expect(text).toBe('{"result":{"text":"Repeat Ada"}}\n'.repeat(3));
  });

  it('--plain-events sends no event at the end', async () => {
    const { address } = opening(await startReflecting());
    const origin = await originOf(startCommand('--target', address, '--plain-events'));
    const headers = { accept: 'text/event-stream' };
    const { text } = await httpRequest(origin, { path: '/v1/greetings/Ada:repeat', headers });
    expect(text).toBe('data: {"text":"Repeat Ada"}\n\n'.repeat(3));
  });

  it.each<[args: string[], body: string, answer: object]>([
    [['--proto-names', '--omit', 'defaults'], '{"stringValue":"a"}', { string_value: 'a' }],
    [['--omit', 'defaults'], '{"stringValue":"a","int32Value":0}', { stringValue: 'a' }],
    [['--ignore-unknown', '--omit=defaults'], '{"stringValue":"a","unknown":1}', { stringValue: 'a' }],
  ])('%j decides about JSON', async (args, body, answer) => {
    const { send } = await start(...args);
    expect(JSON.parse((await send(echo(body))).text)).toEqual(answer);
  });

  it('--ignore-query ignores parameters of these names, and no others', async () => {
    const { send } = await start('--ignore-query', 'key', '--ignore-query', 'utm_*');
    expect((await send({ path: '/v1/echo?key=1&utm_source=a&stringValue=b' })).status).toBe(200);
    expect(errorOf(await send({ path: '/v1/echo?keys=1' })).code).toBe(400);
  });

  it('--cert with --key is the certificate that the command presents', async () => {
    const { ca, server, client } = certificates;
    const pair = { cert_chain: server.cert, private_key: server.key };
    const identity = ServerCredentials.createSsl(ca.cert, [pair], true);
    const { address } = opening(await startReflecting({ identity }));
    const trusting = ['--target', address, '--ca', fileWith(ca.cert)];
    const known = startCommand(...trusting, '--cert', fileWith(client.cert), '--key', fileWith(client.key));
    const origin = await originOf(known);
    expect((await httpRequest(origin, { path: '/v1/greetings/Ada' })).text).toBe('{"text":"Greet Ada"}');
    const unknown = startCommand(...trusting);
    await eventually(() => unknown.lines.join()).toContain('Waiting: ');
  });
});

it('the option --target is required', async () => {
  const complaint = 'transcoder: --target is missing, the address of a gRPC server; see --help.\n';
  expect(await runToEnd()).toEqual({ code: 2, printed: '', complaint });
});

it.each(['x:0', 'x:65535', '10.0.0.1:1', '[::1]:50051', 'unix:/run/s', 'dns:///x', 'ipv4:10.0.0.1'])(
  'the option --target may be %s',
  (target) => {
    expect(commandSettings(['--target', target])).toMatchObject({ target });
  },
);

describe('an invalid value', () => {
  /** Writes what a key may be. */
  const file = (): string => fileWith('no PEM');

  it.each<[args: (string | (() => string))[], complaint: string]>([
    [['--target', ''], '--target must be HOST:PORT; got "".'],
    [['--target', ':50051'], '--target must be HOST:PORT; got ":50051".'],
    [['--target', 'unix:'], '--target must be HOST:PORT; got "unix:".'],
    [['--target', 'a:b:1'], '--target must be HOST:PORT; got "a:b:1".'],
    [['--target', 'x:65536'], '--target must be HOST:PORT; got "x:65536".'],
    [['--target', '[::1]'], '--target must be HOST:PORT; got "[::1]".'],
    [['--port', '65536'], '--port must be a number from 0 to 65535; got "65536".'],
    [['--max-body', '1e3'], '--max-body must be a number from 0 to 268435456; got "1e3".'],
    [['--max-reply', '0'], '--max-reply must be a number from 1 to 268435456; got "0".'],
    [['--deadline', '5s'], '--deadline must be a number of seconds above 0, and at most 86400; got "5s".'],
    [['--deadline', '0'], '--deadline must be a number of seconds above 0, and at most 86400; got "0".'],
    [
      ['--stream-time', '86401'],
      '--stream-time must be a number of seconds above 0, and at most 86400; got "86401".',
    ],
    [['--omit', 'all'], '--omit must be nothing, unassigned or defaults; got "all".'],
    [['--allow-host', 'a:80'], '--allow-host must be a host name, without a port; got "a:80".'],
    [['--header', 'tenant'], '--header must be \'NAME: VALUE\'; got "tenant".'],
    [['-H', ': a'], '--header must be \'NAME: VALUE\'; got ": a".'],
    [['-H', 'a b: c'], '--header gives the metadata "a b", which is not a key of gRPC.'],
    [['-H', 'a: ü'], '--header gives the metadata "a", whose value is not printable ASCII.'],
    [['-H', 'a-bin: c'], '--header gives the metadata "a-bin", which is bytes; only text can be forwarded.'],
    [['--forward', 'a='], '--forward must be NAME[=KEY], with names of headers; got "a=".'],
    [['--forward', '=a'], '--forward must be NAME[=KEY], with names of headers; got "=a".'],
    [
      ['--forward', 'a=b', '--forward', 'c=b'],
      '--forward: The forwarded header "c" would be the metadata "b"',
    ],
    [['--response-header', 'a=ETag'], '--response-header: The header "ETag" is written by the transcoder'],
    [['--response-header', 'a:b'], '--response-header must be KEY[=NAME], with names of headers; got "a:b".'],
    [['--cert', file], '--cert and --key need each other: a client certificate and its private key.'],
    [['--key', file], '--cert and --key need each other: a client certificate and its private key.'],
    [['--ca', file], '--ca: '],
    [['--cert', file, '--key', file], '--cert: '],
    [['--cert', () => fileWith(certificates.client.cert), '--key', file], '--key: '],
    [
      ['--cert', () => fileWith(certificates.client.cert), '--key', () => fileWith(certificates.server.key)],
      '--cert: ',
    ],
    [['--descriptors', '/no/file'], "--descriptors: ENOENT: no such file or directory, open '/no/file'."],
    [['--target', 'a:1', '--target', 'b:1'], "Option '--target' is given twice; see --help."],
    [['-H', 'a: b', '-H', 'c: d', '--all', '--all'], "Option '--all' is given twice; see --help."],
    [['--prot', '80'], "Unknown option '--prot'; see --help."],
    [['--port', '--all'], "Option '--port' argument is ambiguous; see --help."],
  ])('%j ends the command with a sentence that names the option', async (args, complaint) => {
    const allArgs = args.map((arg) => (typeof arg === 'string' ? arg : arg()));
    const ended = await runToEnd(...(allArgs.includes('--target') ? [] : ['--target', 'x:1']), ...allArgs);
    expect(ended).toMatchObject({ code: 2, printed: '' });
    expect(ended.complaint).toMatch(/^transcoder: [^\n]*[^.]\.\n$/);
    expect(ended.complaint).toContain(`transcoder: ${complaint}`);
  });
});

describe('the text of a server', () => {
  const HOSTILE = 'a\u001b[31mb\r\nc\u202e\u0085d\\é😀';
  const HARMLESS = 'a\\u{1b}[31mb\\u{d}\\u{a}c\\u{202e}\\u{85}d\\é😀';

  it('is printed with its control characters escaped where it names a service', async () => {
    const { address } = opening(await startReflecting({ listed: ['greeter.v1.Greeter', HOSTILE] }));
    const command = startCommand('--target', address);
    await originOf(command);
    expect(command.lines[0]).toContain(`Left out: ${HARMLESS}`);
  });

  it('is printed with its control characters escaped where it is an error', async () => {
    const reflection = (stream: ReflectionCall): void => {
      stream.emit('error', { code: status.INTERNAL, details: HOSTILE });
    };
    const { address } = opening(await startReflecting({ reflection }));
    const command = startCommand('--target', address);
    expect(await command.code).toBe(1);
    expect(command.complaints).toEqual([expect.stringContaining(HARMLESS)]);
  });
});

describe('the options', () => {
  const readme = readFileSync(resolve(import.meta.dirname, '../../README.md'), 'utf8');

  it('are in the README with the texts of --help', () => {
    const rows = shownOptions().map(({ title, default: fallback, without, help }) => {
      const shown = typeof fallback === 'string' ? `\`${fallback}\`` : (without ?? '');
      return `| \`${title}\` | ${shown} | ${help} |\n`;
    });
    expect(readme).toContain(`| option | default | meaning |\n|---|---|---|\n${rows.join('')}\n`);
  });
});
