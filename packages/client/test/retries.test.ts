import { getEventListeners, once } from 'node:events';
import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import { createServer } from 'node:net';
import { status } from '@grpc/grpc-js';
import { describe, expect, it, vi } from 'vitest';
import { AWAY, startFaultServer, STORED } from './support/fault-server.js';
import { answer, listen, startHttp2Server } from './support/http2-server.js';
import { clientFor, DEFINITION, failureOf } from './support/test-client.js';

/** A signal that is no `EventTarget` of Node, and what aborts it. */
function foreignController(): { readonly signal: AbortSignal; readonly abort: (reason: string) => void } {
  const listeners = new Set<() => void>();
  const signal = {
    aborted: false,
    reason: undefined as unknown,
    addEventListener: (_type: string, listener: () => void) => listeners.add(listener),
    removeEventListener: (_type: string, listener: () => void) => listeners.delete(listener),
  };
  const abort = (reason: string): void => {
    signal.aborted = true;
    signal.reason = reason;
    for (const listener of listeners) listener();
  };
  return { signal: signal as unknown as AbortSignal, abort };
}

function notFound(_session: ServerHttp2Session, stream: ServerHttp2Stream): void {
  answer(stream, status.NOT_FOUND);
}

describe('a create', () => {
  it.each([status.UNAVAILABLE, status.RESOURCE_EXHAUSTED])(
    'is retried with the same request id after code %i, up to four attempts',
    async (code) => {
      const server = await startFaultServer((_call, earlier) =>
        earlier < 3 ? { code, details: 'Not now.' } : STORED,
      );
      await expect(clientFor(server.address).createRoute(DEFINITION)).resolves.toMatchObject(DEFINITION);
      expect(server.creates).toHaveLength(4);
      expect(new Set(server.creates.map(({ requestId }) => requestId)).size).toBe(1);
    },
  );

  it('is retried by the default of a channel option that is undefined', async () => {
    const server = await startFaultServer((_call, earlier) => (earlier === 0 ? AWAY : STORED));
    const channelOptions: object = { 'grpc.service_config': undefined };
    const client = clientFor(server.address, { channelOptions });
    await expect(client.createRoute(DEFINITION)).resolves.toMatchObject(DEFINITION);
  });

  it.each([status.INVALID_ARGUMENT, status.INTERNAL, status.DEADLINE_EXCEEDED, status.CANCELLED])(
    'is not retried after code %i',
    async (code) => {
      const server = await startFaultServer(() => ({ code, details: 'No.' }));
      await failureOf(clientFor(server.address).createRoute(DEFINITION));
      expect(server.creates).toHaveLength(1);
    },
  );

  describe.each([
    ['too many pings', constants.NGHTTP2_ENHANCE_YOUR_CALM],
    ['an internal error', constants.NGHTTP2_INTERNAL_ERROR],
    ['no error', constants.NGHTTP2_NO_ERROR],
  ])('whose connection is ended because of %s', (_, code) => {
    const end = (session: ServerHttp2Session): void => {
      session.goaway(code, 2 ** 31 - 1, Buffer.from('too_many_pings'));
      setImmediate(() => {
        session.destroy();
      });
    };
    const channelOptions = { 'grpc.keepalive_time_ms': -1 };

    it('is sent again on another', async () => {
      const { address } = await startHttp2Server(end, notFound);
      const failure = await failureOf(clientFor(address, { channelOptions }).createRoute(DEFINITION));
      expect(failure.status).toBe('NOT_FOUND');
    });

    it('fails with UNAVAILABLE after four attempts', async () => {
      const server = await startHttp2Server(end);
      const client = clientFor(server.address, { channelOptions });
      expect(await failureOf(client.createRoute(DEFINITION))).toMatchObject({
        code: status.UNAVAILABLE,
        status: 'UNAVAILABLE',
        reason: undefined,
        message: expect.stringMatching(/^The call or its connection ended before the reply: .*\.$/) as string,
      });
      expect(server.streams()).toBe(4);
    });
  });

  it('is sent again if its second connection ends in a way that grpc-js does not retry', async () => {
    const { address } = await startHttp2Server(
      (_session, stream) => {
        answer(stream, status.UNAVAILABLE);
      },
      (_session, stream) => {
        stream.close(constants.NGHTTP2_INTERNAL_ERROR);
      },
      notFound,
    );
    expect((await failureOf(clientFor(address).createRoute(DEFINITION))).status).toBe('NOT_FOUND');
  });

  it('is sent again on another connection if its own breaks within the response', async () => {
    const { address } = await startHttp2Server((session, stream) => {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' });
      setImmediate(() => {
        session.destroy();
      });
    }, notFound);
    expect((await failureOf(clientFor(address).createRoute(DEFINITION))).status).toBe('NOT_FOUND');
  });

  it('is sent again beside many that their connection has ended, too', async () => {
    const end = (session: ServerHttp2Session): void => {
      session.destroy();
    };
    const { address } = await startHttp2Server(...Array<() => void>(99).fill(() => undefined), end, notFound);
    const client = clientFor(address);
    const failures = Array.from({ length: 100 }, () => failureOf(client.createRoute(DEFINITION)));
    expect(new Set((await Promise.all(failures)).map((each) => each.status))).toEqual(new Set(['NOT_FOUND']));
  });

  it('that has lost its connection is not sent again once it is aborted', async () => {
    const controller = new AbortController();
    const server = await startHttp2Server((_session, stream) => {
      controller.abort();
      stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    });
    const { signal } = controller;
    const failure = await failureOf(clientFor(server.address).createRoute(DEFINITION, { signal }));
    expect(failure.status).toBe('CANCELLED');
    expect(server.streams()).toBe(1);
  });
});

it.each([
  [200, 'text/html', '<html>Welcome!</html>', 'INTERNAL', 'content type "text/html"'],
  [404, 'text/plain', 'No such page.', 'UNIMPLEMENTED', 'HTTP status 404, content type "text/plain"'],
  [400, undefined, '', 'INTERNAL', 'HTTP status 400'],
])(
  'a reply that is not of gRPC is called that, whatever its bytes mean: %i, %s, %s',
  async (code, type, body, name, facts) => {
    const { address } = await startHttp2Server((_session, stream) => {
      stream.respond({ ':status': code, ...(type !== undefined && { 'content-type': type }) });
      stream.end(body);
    });
    expect(await failureOf(clientFor(address).createRoute(DEFINITION))).toMatchObject({
      status: name,
      message: `The server does not answer as a gRPC server: ${facts}.`,
    });
  },
);

describe('without a connection, a call', () => {
  it('waits for one, however often the server refuses it, until its deadline', async () => {
    const refusing = createServer((socket) => socket.destroy());
    const host = await listen(refusing);
    const call = clientFor(host).createRoute(DEFINITION, { timeoutMs: 60_000 });
    // Far more often than a call has attempts.
    for (let refused = 0; refused < 6; refused++) await once(refusing, 'connection');
    refusing.close();
    await once(refusing, 'close');
    const server = await startFaultServer(() => STORED, { host });
    await expect(call).resolves.toMatchObject(DEFINITION);
    expect(server.creates).toHaveLength(1);
  });

  it.each([
    ['127.0.0.1:1', 'connect ECONNREFUSED 127.0.0.1:1'],
    ['unix:/nowhere/routes.sock', 'connect ENOENT /nowhere/routes.sock'],
    ['dns:///nowhere.invalid:50051', 'Name resolution failed for target dns:///nowhere.invalid:50051'],
  ])('says at its deadline why there is none: %s', async (target, reason) => {
    const failure = await failureOf(clientFor(target, { tls: false }).getRoute('x', { timeoutMs: 500 }));
    expect(failure).toMatchObject({ status: 'DEADLINE_EXCEEDED', reason: undefined });
    expect(failure.message).toContain(`Deadline exceeded after 500 ms, waiting for a connection: ${reason}`);
    expect(failure.message).not.toContain('Last error');
  });

  it('says at its deadline that it waits, if the server does not say no', async () => {
    const target = await listen(createServer(() => undefined));
    const failure = await failureOf(clientFor(target).getRoute('x', { timeoutMs: 100 }));
    expect(failure.message).toBe('Deadline exceeded after 100 ms, waiting for a connection.');
  });

  it('can be cancelled while it learns, after its deadline, why there is none', async () => {
    const target = await listen(createServer(() => undefined));
    const controller = new AbortController();
    const { signal } = controller;
    const addListener = signal.addEventListener.bind(signal);
    vi.spyOn(signal, 'addEventListener')
      // Until the deadline.
      .mockImplementationOnce(addListener)
      // From then on.
      .mockImplementationOnce((...listening) => {
        addListener(...listening);
        setImmediate(() => {
          controller.abort('The user has gone.');
        });
      });
    const failure = await failureOf(clientFor(target).getRoute('x', { signal, timeoutMs: 100 }));
    expect(failure).toMatchObject({ status: 'CANCELLED', cause: 'The user has gone.' });
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});

it('the deadline covers all attempts together', async () => {
  const server = await startFaultServer((_received, earlier) => (earlier < 2 ? AWAY : 'never'));
  const failure = await failureOf(clientFor(server.address).getRoute('x', { timeoutMs: 700 }));
  expect(failure.message).toBe('Deadline exceeded after 700 ms, waiting for the reply.');
  const [first = 0, , third = 0] = server.received.map(({ timeoutMs }) => timeoutMs);
  expect(first - third).toBeGreaterThan(230);
});

describe('an abort signal', () => {
  it('may be any object that does what a signal does, as those of jsdom do', async () => {
    const server = await startFaultServer(() => 'never');
    const { signal: own, abort } = foreignController();
    const call = failureOf(clientFor(server.address).getRoute('x', { signal: own }));
    await expect.poll(() => server.received.length).toBe(1);
    abort('The user has left.');
    expect(await call).toMatchObject({ status: 'CANCELLED', cause: 'The user has left.' });
  });

  it('cancels a call in progress, also on the server, and keeps another from being sent', async () => {
    const server = await startFaultServer(() => 'never');
    const controller = new AbortController();
    const call = failureOf(clientFor(server.address).getRoute('x', { signal: controller.signal }));
    await expect.poll(() => server.received.length).toBe(1);
    const reason = new Error('The user has left.');
    controller.abort(reason);
    expect(await call).toMatchObject({ status: 'CANCELLED', code: status.CANCELLED, cause: reason });
    await expect.poll(() => server.received[0]?.cancelled()).toBe(true);
    const later = clientFor(server.address).getRoute('x', { signal: controller.signal });
    expect((await failureOf(later)).cause).toBe(reason);
    expect(server.received).toHaveLength(1);
  });

  it('may be shared by many calls without a warning of Node, and has no listeners left after them', async () => {
    const server = await startFaultServer(() => STORED);
    const client = clientFor(server.address);
    const { signal } = new AbortController();
    const warnings: Error[] = [];
    process.on('warning', (warning) => warnings.push(warning));
    await Promise.all(Array.from({ length: 20 }, () => client.getRoute('x', { signal })));
    expect(warnings).toEqual([]);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});

it.each([{ 'grpc-encoding': 'snappy' }, {}])(
  'a reply whose compression is unknown is INTERNAL: %j',
  async (encoding) => {
    const { address } = await startHttp2Server((_session, stream) => {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc', ...encoding });
      stream.end(Buffer.of(1, 0, 0, 0, 1, 0));
    });
    expect(await failureOf(clientFor(address).createRoute(DEFINITION))).toMatchObject({
      status: 'INTERNAL',
      message: 'The reply is compressed in a way that is not supported, or not declared.',
    });
  },
);

it('retries stop while a target has too many failures, also for its next client', async () => {
  const server = await startFaultServer(() => AWAY);
  const client = clientFor(server.address);
  await Promise.all(Array.from({ length: 30 }, () => failureOf(client.getRoute('x'))));
  const before = server.received.length;
  await failureOf(clientFor(server.address).getRoute('x'));
  expect(server.received.length - before).toBe(1);
});

it('the calls of a client that knows several addresses are not bounded by one of them', async () => {
  const servers = [await startFaultServer(() => 'never'), await startFaultServer(() => 'never')];
  const client = clientFor(`ipv4:${servers.map(({ address }) => address).join(',')}`);
  const controller = new AbortController();
  const { signal } = controller;
  const calls = Array.from({ length: 250 }, () => failureOf(client.getRoute('x', { signal })));
  await expect.poll(() => servers.flatMap((server) => server.received).length).toBe(250);
  controller.abort();
  await Promise.all(calls);
});
