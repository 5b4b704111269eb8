import { once } from 'node:events';
import type { ServerHttp2Stream } from 'node:http2';
import { createServer, type Socket } from 'node:net';
import { promisify } from 'node:util';
import { create, createFileRegistry, type DescMessage, fromBinary, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { credentials, Server, ServerCredentials, status } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { ReflectionService } from '@grpc/reflection';
import { describe, expect, it, onTestFinished } from 'vitest';
import { certificates } from '../../../../client/test/support/certificates.js';
import { tlsOptions } from '../../../src/grpc-js.js';
import { registryOf } from '../../../src/template/descriptor-set.js';
import { followContract, reflect, type ReflectedContract } from '../../../src/command/reflection.js';
import { greeterDescriptorSet, libraryDescriptorSet } from '../../support/library-contract.js';
import { startHttp2Server } from '../../support/http2-server.js';
import { opening } from '../../support/opening.js';
import {
  answering,
  type File,
  files,
  listed,
  type Reflecting,
  type ReflectionCall,
  startReflecting,
} from '../../support/reflecting-server.js';
import { eventually } from '../../support/running-command.js';

const insecure = { credentials: credentials.createInsecure() };

const start = async (reflecting?: Reflecting) => opening(await startReflecting(reflecting));
/** The address of a server that has stopped. */
async function unusedAddress(): Promise<string> {
  const server = await startReflecting();
  server.close();
  return server.address;
}

const filesOf = (contract: ReflectedContract | undefined) =>
  fromBinary(FileDescriptorSetSchema, contract?.descriptorSet ?? new Uint8Array()).file.map(
    ({ name }) => name,
  );

const GREETER_FILES = fromBinary(FileDescriptorSetSchema, greeterDescriptorSet)
  .file.map(({ name }) => name)
  .sort();

/** The fields of the messages of the library as a transcoder reads them, each with its JSON name and its type. */
function fieldsOf(descriptorSet: Uint8Array): string[] {
  return [...registryOf(descriptorSet)]
    .filter((type) => type.kind === 'message' && type.typeName.startsWith('library.v1.'))
    .flatMap((message) => (message as DescMessage).fields)
    .map(({ parent, jsonName, fieldKind, message, enum: values }) =>
      [parent.typeName, jsonName, fieldKind, message?.typeName, values?.typeName].join(' '),
    )
    .sort();
}

describe('a contract by reflection', () => {
  it.each<[what: string, reflecting: Reflecting]>([
    ['v1 and v1alpha', {}],
    ['v1 alone', { versions: ['v1'] }],
    ['v1alpha alone', { versions: ['v1alpha'] }],
    ['a server that sends files without their imports', { transitive: false }],
  ])('is complete, with each import before the files that import it: %s', async (_, reflecting) => {
    const { address } = await start(reflecting);
    const contract = await reflect(address, insecure);
    expect(contract).toMatchObject({ services: ['greeter.v1.Greeter'], skipped: [] });
    expect(filesOf(contract).sort()).toEqual(GREETER_FILES);
    // Resolves each import among the preceding files.
    const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, contract.descriptorSet));
    expect(registry.getMessage('greeter.v1.Greeting')).toBeDefined();
  });

  it('is complete from the npm package @grpc/reflection, which sends relative names and no imports', async () => {
    const server = new Server();
    const includeDirs = [
      `${import.meta.dirname}/../../contract`,
      `${import.meta.dirname}/../../../../../third_party/googleapis`,
    ];
    new ReflectionService(loadSync('library/v1/library.proto', { includeDirs })).addToServer(server);
    const bind = promisify(server.bindAsync.bind(server));
    const port = await bind('127.0.0.1:0', ServerCredentials.createInsecure());
    onTestFinished(() => {
      server.forceShutdown();
    });
    const { descriptorSet } = await reflect(`127.0.0.1:${port}`, insecure);
    // The package does not send json_name either.
    const expected = fieldsOf(libraryDescriptorSet).map((field) => field.replace(' Odd ', ' oddName '));
    expect(fieldsOf(descriptorSet)).toEqual(expected.sort());
  });

  it('has each file once, and the server is asked for no file twice', async () => {
    const { address, questions } = await start({ descriptorSet: libraryDescriptorSet, transitive: false });
    const files = filesOf(await reflect(address, insecure));
    expect(files).toEqual([...new Set(files)]);
    expect(questions).toEqual([...new Set(questions)]);
  });

  it("lists gRPC's own services last, and omits those of reflection", async () => {
    const importing = { dependency: ['common.proto'] };
    const descriptorSet = setOf([
      { name: 'common.proto' },
      { ...importing, name: 'health.proto', package: 'grpc.health.v1', service: [{ name: 'Health' }] },
      { ...importing, name: 'other.proto', package: 'other', service: [{ name: 'Other' }] },
    ]);
    const { address } = await start({ descriptorSet });
    expect((await reflect(address, insecure)).services).toEqual(['other.Other', 'grpc.health.v1.Health']);
  });

  it('keeps its public imports, even if one before them is left out', async () => {
    const descriptorSet = setOf([
      { name: 'lacking.proto' },
      { name: 'public.proto', enumType: [{ name: 'Public' }] },
      {
        name: 'service.proto',
        dependency: ['lacking.proto', 'public.proto'],
        publicDependency: [0, 1],
        service: [{ name: 'Service' }],
      },
    ]);
    const { address } = await start({ descriptorSet, lacking: ['lacking.proto'] });
    const contract = await reflect(address, insecure);
    expect(contract.services).toEqual(['Service']);
    expect(fromBinary(FileDescriptorSetSchema, contract.descriptorSet).file.at(-1)).toMatchObject({
      dependency: ['public.proto'],
      publicDependency: [0],
    });
  });

  it('has further types that are asked for, as far as the server has them', async () => {
    const detail = { name: 'detail.proto', package: 'b', messageType: [{ name: 'Detail' }] };
    const descriptorSet = setOf([{ name: 'a.proto', service: [{ name: 'A' }] }, detail]);
    const { address } = await start({ descriptorSet });
    const contract = await reflect(address, { ...insecure, types: ['b.Detail', 'x.Lacking'] });
    expect(filesOf(contract).sort()).toEqual(['a.proto', 'detail.proto']);
  });
});

const setOf = (file: File[]): Uint8Array =>
  toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema, { file }));

describe('reflection fails', () => {
  const failing = (reflection: (stream: ReflectionCall) => void) => start({ reflection });
  const failure = (address: string) => reflect(address, { ...insecure, deadlineMs: 2_000 });

  it('if nothing listens at the address', async () => {
    const address = await unusedAddress();
    await expect(failure(address)).rejects.toMatchObject({
      name: 'ReflectionError',
      code: status.UNAVAILABLE,
      message: `${address} cannot be reached: connect ECONNREFUSED ${address}.`,
    });
  });

  it('if only one of the client and the server uses TLS', async () => {
    const { cert, key } = certificates.server;
    const identity = ServerCredentials.createSsl(null, [{ cert_chain: cert, private_key: key }]);
    const secure = await start({ identity });
    await expect(failure(secure.address)).rejects.toThrow(
      `${secure.address} cannot be reached: it ended the connection, as a server that expects TLS does.`,
    );
    const { address } = await start();
    const { channelOptions } = tlsOptions(address);
    await expect(reflect(address, { credentials: credentials.createSsl(), channelOptions })).rejects.toThrow(
      `${address} cannot be reached: TLS failed, wrong version number.`,
    );
  });

  it.each<[what: string, answer: (stream: ServerHttp2Stream) => void, text: string]>([
    [
      'is a proxy that refuses',
      (stream) => {
        stream.respond({ ':status': 404, 'content-type': 'text/html' }, { endStream: true });
      },
      'does not answer as a gRPC server: HTTP status 404, content type "text/html".',
    ],
    [
      'is a web server',
      (stream) => {
        stream.respond({ 'content-type': 'text/html' });
        stream.end('<html>Sign in</html>');
      },
      'does not answer as a gRPC server: content type "text/html".',
    ],
    [
      'compresses in a way that is not declared',
      (stream) => {
        stream.respond({ 'content-type': 'application/grpc' });
        stream.end(Buffer.from([1, 0, 0, 0, 1, 0]));
      },
      'does not describe its services: UNKNOWN, The reply is compressed in a way that is not supported, or not declared.',
    ],
  ])('if the server %s', async (_, answer, text) => {
    const { address } = await startHttp2Server(answer);
    await expect(failure(address)).rejects.toMatchObject({ message: `${address} ${text}` });
  });

  it('if the server never responds', async () => {
    const { address } = await failing(() => undefined);
    await expect(reflect(address, { ...insecure, deadlineMs: 300 })).rejects.toMatchObject({
      code: status.DEADLINE_EXCEEDED,
      message: `${address} has not described its services within 0.3 s.`,
    });
  });

  it.each<[what: string, reflection: (stream: ReflectionCall) => void, code: status, text: string]>([
    [
      'refuses the call',
      (stream) => stream.emit('error', { code: status.PERMISSION_DENIED, details: 'Not you.' }),
      status.PERMISSION_DENIED,
      'PERMISSION_DENIED, Not you.',
    ],
    [
      'ends the call',
      (stream) => void stream.end(),
      status.UNKNOWN,
      'The server ends the call without an answer.',
    ],
  ])('if the server %s', async (_, reflection, code, text) => {
    const { address } = await failing(reflection);
    const error = await failure(address).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code });
    expect(String(error)).toContain(`${address} does not describe its services: `);
    expect(String(error)).toContain(text);
  });

  it('if the server has no services but reflection, or describes none', async () => {
    const { address } = await start({ listed: ['made.by.Hand'] });
    await expect(failure(address)).rejects.toMatchObject({
      code: status.NOT_FOUND,
      message: `made.by.Hand: the server lists it, but has no descriptor of it. ${address} describes no service.`,
    });
    const bare = await failing(answering(() => files(undefined)));
    await expect(failure(bare.address)).rejects.toThrow(`${bare.address} describes no service.`);
  });

  it('if the server lacks a file that another file needs', async () => {
    const { address } = await start({ lacking: ['greeter/v1/greeting.proto'] });
    const error = await failure(address).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: status.DATA_LOSS });
    expect(String(error)).toContain(
      `; it lacks greeter/v1/greeting.proto, which greeter/v1/greeter.proto imports. ${address} describes no service whole.`,
    );
  });

  it('if the files are larger than 64 MiB', async () => {
    const names = ['a.A', 'b.B', 'c.C', 'd.D'];
    const large = { dependency: ['x'.repeat(17 * 1024 * 1024)] };
    const { address } = await failing(
      answering(({ messageRequest: { case: asked, value } }) =>
        asked === 'listServices' ? listed(names) : files([{ name: value as string, ...large }]),
      ),
    );
    await expect(reflect(address, { ...insecure, deadlineMs: 60_000 })).rejects.toMatchObject({
      code: status.RESOURCE_EXHAUSTED,
      message: 'The contract is larger than 64 MiB.',
    });
  });
});

describe('a contract that is followed', () => {
  /** Follows a contract until the test ends. `events` is what the listener is told, in order. */
  function follow(target: string, refused?: string, deadlineMs = 10_000) {
    const events: string[] = [];
    const contracts: ReflectedContract[] = [];
    const wants: ((typeUrl: string) => void)[] = [];
    const ending = new AbortController();
    onTestFinished(() => {
      ending.abort();
    });
    const ended = followContract(
      target,
      { ...insecure, deadlineMs, signal: ending.signal },
      {
        contract(contract, changed, want) {
          contracts.push(contract);
          wants.push(want);
          if (contract.services.join() === refused) throw new Error('It cannot be served.');
          events.push(`${changed ? 'changed' : 'the same'}: ${contract.services.join()}`);
        },
        waiting: (reason) => events.push(reason),
        failed: (error) => events.push(error.message),
      },
    );
    const end = (): void => {
      ending.abort();
    };
    const want = (typeUrl: string): void => {
      wants.at(-1)?.(typeUrl);
    };
    return { events, contracts, want, ended, end };
  }

  const CHANGED = { descriptorSet: libraryDescriptorSet, listed: ['library.v1.Library'] };

  it('is taken again with the types that are wanted, each asked for once, and stays the same without any', async () => {
    const detail = { name: 'detail.proto', package: 'b', messageType: [{ name: 'Detail' }] };
    const descriptorSet = setOf([{ name: 'a.proto', service: [{ name: 'A' }] }, detail]);
    const { address, questions } = await start({ descriptorSet });
    const { events, contracts, want } = follow(address);
    await eventually(() => events).toHaveLength(1);
    expect(filesOf(contracts.at(-1))).toEqual(['a.proto']);
    want('type.googleapis.com/x.Lacking');
    await eventually(() => questions).toContain('fileContainingSymbol x.Lacking');
    for (const odd of ['', 'a/', 'a b', `b.${'x'.repeat(300)}`, 'x.Lacking']) want(odd);
    want('type.googleapis.com/b.Detail');
    await eventually(() => events).toEqual(['changed: A', 'changed: A']);
    expect(filesOf(contracts.at(-1)).sort()).toEqual(['a.proto', 'detail.proto']);
    const asked = questions.filter(
      (question) => question.startsWith('fileContainingSymbol') && !question.endsWith(' A'),
    );
    expect([...new Set(asked)]).toEqual(['fileContainingSymbol x.Lacking', 'fileContainingSymbol b.Detail']);
  });

  it('asks for no more than 100 types', async () => {
    const { address, questions } = await start();
    const { events, want } = follow(address);
    await eventually(() => events).toHaveLength(1);
    for (let number = 0; number < 300; number += 1) want(`x.Y${number}`);
    await eventually(() => questions).toContain('fileContainingSymbol x.Y99');
    expect(questions.filter((question) => question.includes(' x.Y'))).toHaveLength(100);
    expect(events).toHaveLength(1);
  });

  it('stays as it was if a later one cannot be taken or served, and each failure is reported once', async () => {
    const first = await start();
    const { address } = first;
    const { events } = follow(address, 'library.v1.Library');
    await eventually(() => events).toHaveLength(1);
    first.close();
    const second = await start({ address, ...CHANGED });
    await eventually(() => events.at(-1)).toBe('It cannot be served.');
    second.close();
    const third = await start({ address, versions: [] });
    await eventually(() => events.at(-1)).toBe(`${address} has no server reflection.`);
    third.close();
    await start({ address });
    await eventually(() => events.at(-1)).toBe('the same: greeter.v1.Greeter');
  });

  it('is requested again after a server that accepts connections but never responds', async () => {
    const first = await start();
    const { address } = first;
    const { events } = follow(address, undefined, 1_000);
    await eventually(() => events).toHaveLength(1);
    first.close();
    const sockets: Socket[] = [];
    const silent = createServer((socket) => sockets.push(socket.on('error', () => undefined)));
    await once(silent.listen(Number(address.split(':')[1]), '127.0.0.1'), 'listening');
    await eventually(() => events.at(-1)).toBe(`${address} has not described its services within 1 s.`);
    silent.close();
    for (const socket of sockets) socket.destroy();
    await start({ address });
    await eventually(() => events.at(-1)).toBe('the same: greeter.v1.Greeter');
  });

  it('fails if the first one cannot be taken or served', async () => {
    const { address } = await start({ versions: [] });
    await expect(follow(address).ended).rejects.toThrow('has no server reflection');
    const served = await start();
    await expect(follow(served.address, 'greeter.v1.Greeter').ended).rejects.toThrow('It cannot be served.');
  });

  it.each<[when: string, reflecting: Reflecting, until: number]>([
    ['it has been taken', {}, 1],
    ['it is being taken', { reflection: () => undefined }, 0],
  ])('stops at its signal when %s', async (_, reflecting, until) => {
    const { address } = await start(reflecting);
    const { events, ended, end } = follow(address);
    await eventually(() => events).toHaveLength(until);
    end();
    await ended;
    expect(events).toHaveLength(until);
  });
});
