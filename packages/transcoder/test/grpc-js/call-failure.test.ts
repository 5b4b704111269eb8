import { constants, type OutgoingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { status } from '@grpc/grpc-js';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { startHttp2Server } from '../support/http2-server.js';
import { opening } from '../support/opening.js';
import { resetAfterHeaders, serveSockets } from '../support/socket-server.js';
import { PATH, unaryCall } from '../support/unary-call.js';
import { upstreamAt, upstreamTo } from '../support/upstream.js';

/** Starts a response and leaves it open. */
const begin = (stream: ServerHttp2Stream, headers: OutgoingHttpHeaders = {}): ServerHttp2Stream => {
  stream.respond({ ':status': 200, 'content-type': 'application/grpc', ...headers });
  return stream;
};

/** Responds with headers, an optional message, and trailers. */
const endWith = (trailers: OutgoingHttpHeaders, headers: OutgoingHttpHeaders = {}, message?: Buffer) => {
  return (stream: ServerHttp2Stream) => {
    const all = { ':status': 200, 'content-type': 'application/grpc', ...headers };
    stream.respond(all, { waitForTrailers: true });
    stream.on('wantTrailers', () => {
      stream.sendTrailers(trailers);
    });
    stream.end(message);
  };
};

describe('what a grpc-go 1.81.1 server sends after its headers', () => {
  /** A message of three bytes in its gRPC frame. */
  const MESSAGE = Buffer.from([0, 0, 0, 0, 3, 97, 98, 99]);
  const CODES = Object.values(status).filter((code): code is status => Number(code) > 0);

  it.each<[what: string, trailers: OutgoingHttpHeaders, code: number, text: string, message?: Buffer]>([
    ...[...CODES, 17].map((code): [string, OutgoingHttpHeaders, number, string] => [
      `code ${code}`,
      { 'grpc-status': String(code), 'grpc-message': `text ${code}` },
      code,
      `text ${code}`,
    ]),
    [
      'its own deadline',
      { 'grpc-status': '4', 'grpc-message': 'context deadline exceeded' },
      4,
      'context deadline exceeded',
    ],
    [
      'a failure after the message',
      { 'grpc-status': '13', 'grpc-message': 'after the message' },
      13,
      'after the message',
      MESSAGE,
    ],
  ])('counts as answered by the server: %s', async (_, trailers, code, text, message) => {
    const server = await startHttp2Server(endWith(trailers, { 'x-quota': '1' }, message));
    const reply = await upstreamAt(server.address).unary(unaryCall());
    expect(reply).toMatchObject({ code, details: text, answered: true });
    expect(reply.initialMetadata?.get('x-quota')).toEqual(['1']);
  });
});

describe('a failure', () => {
  const { UNAVAILABLE, INTERNAL, UNKNOWN } = status;
  const { UNAUTHENTICATED, UNIMPLEMENTED, DEADLINE_EXCEEDED } = status;

  it.each<[what: string, code: status, answer: (stream: ServerHttp2Stream) => unknown, ms?: number]>([
    ['a stream that ends early', UNAVAILABLE, (stream) => begin(stream).end()],
    ['a connection that breaks', UNAVAILABLE, (stream) => begin(stream).session?.destroy()],
    ['a deadline', DEADLINE_EXCEEDED, (stream) => begin(stream), 200],
    [
      'a message that is too large',
      INTERNAL,
      (stream) => begin(stream).end(Buffer.from([0, 0xff, 0, 0, 0, 0])),
    ],
    [
      'a message that cannot be decompressed',
      INTERNAL,
      (stream) => begin(stream, { 'grpc-encoding': 'gzip' }).end(Buffer.from([1, 0, 0, 0, 1, 0])),
    ],
    ['an HTML page', UNAUTHENTICATED, (stream) => begin(stream, { ':status': 401 }).end('<html>')],
    ['an HTTP error without a body', UNAVAILABLE, endWith({ x: 'y' }, { ':status': 502 })],
    [
      'no status',
      UNKNOWN,
      (stream) => {
        stream.respond({ ':status': 299 }, { endStream: true });
      },
    ],
    ['no message', UNIMPLEMENTED, endWith({ 'grpc-status': '0' })],
    [
      "a text that is one of grpc-js's own",
      UNAVAILABLE,
      endWith({ 'grpc-status': '13', 'grpc-message': 'Connection dropped' }),
    ],
  ])(
    'that grpc-js itself reports after headers counts as unanswered: %s',
    async (_, code, answer, ms = 60_000) => {
      const server = await startHttp2Server(answer);
      const upstream = upstreamAt(server.address);
      const reply = await upstream.unary(unaryCall({ deadline: Date.now() + ms }));
      expect(reply).toMatchObject({ code, answered: false });
    },
  );

  const PAGE = '<html>Sign in</html>';
  it.each<[what: string, code: status, text: string, answer: (stream: ServerHttp2Stream) => unknown]>([
    [
      'a proxy that refuses',
      UNAUTHENTICATED,
      'HTTP status 401, content type "text/html"',
      (stream) => begin(stream, { ':status': 401, 'content-type': 'text/html' }).end(PAGE),
    ],
    [
      'a proxy that refuses without a page',
      UNAVAILABLE,
      'HTTP status 502',
      (stream) => {
        stream.respond({ ':status': 502 }, { endStream: true });
      },
    ],
    [
      'a web server',
      INTERNAL,
      'content type "text/html"',
      (stream) => begin(stream, { 'content-type': 'text/html' }).end(PAGE),
    ],
    [
      'a server of gRPC-Web',
      UNAVAILABLE,
      'content type "application/grpc-web"',
      (stream) => begin(stream, { 'content-type': 'application/grpc-web' }).end(Buffer.alloc(5)),
    ],
  ])('tells the log what answered in place of a gRPC server: %s', async (_, code, text, answer) => {
    const server = await startHttp2Server(answer);
    const reply = await upstreamAt(server.address).unary(unaryCall());
    expect(reply).toEqual({ code, details: `The response is not gRPC: ${text}.`, answered: false });
  });

  it.each([
    ['unknown', { 'grpc-encoding': 'snappy' }],
    ['undeclared', {}],
  ])('is INTERNAL with a sentence if the compression of a reply is %s', async (_, headers) => {
    const server = await startHttp2Server((stream) => {
      begin(stream, headers).end(Buffer.from([1, 0, 0, 0, 1, 0]));
    });
    const upstream = upstreamAt(server.address);
    const text = 'The reply is compressed in a way that is not supported, or not declared.';
    const failure = { code: INTERNAL, details: text, answered: false, clientMessage: text };
    expect(await upstream.unary(unaryCall())).toEqual(failure);
    expect(await upstream.serverStream(unaryCall()).next()).toEqual(failure);
  });

  it.each([
    ['NO_ERROR', constants.NGHTTP2_NO_ERROR],
    ['PROTOCOL_ERROR', constants.NGHTTP2_PROTOCOL_ERROR],
    ['INTERNAL_ERROR', constants.NGHTTP2_INTERNAL_ERROR],
    ['REFUSED_STREAM', constants.NGHTTP2_REFUSED_STREAM],
    ['CANCEL', constants.NGHTTP2_CANCEL],
    ['ENHANCE_YOUR_CALM', constants.NGHTTP2_ENHANCE_YOUR_CALM],
    ['INADEQUATE_SECURITY', constants.NGHTTP2_INADEQUATE_SECURITY],
  ])(
    'is an unanswered UNAVAILABLE if the server resets the stream with %s after headers',
    async (_, reset) => {
      const server = opening(
        await serveSockets((socket) => {
          resetAfterHeaders(socket, reset);
        }),
      );
      const reply = await upstreamAt(server.address).unary(unaryCall());
      expect(reply).toMatchObject({ code: UNAVAILABLE, answered: false });
    },
  );

  it('is DEADLINE_EXCEEDED, without a warning of Node, if the deadline passes while the call is made', async () => {
    const upstream = await upstreamTo(() => Promise.reject(new Error('called')), [PATH]);
    const warnings: Error[] = [];
    const warned = (warning: Error): void => void warnings.push(warning);
    process.on('warning', warned);
    let now = Date.now();
    vi.spyOn(Date, 'now').mockImplementation(() => now++);
    onTestFinished(() => {
      process.off('warning', warned);
      vi.restoreAllMocks();
    });
    const reply = await upstream.unary(unaryCall({ deadline: now + 0.5 }));
    expect(reply).toMatchObject({ code: DEADLINE_EXCEEDED, answered: false });
    expect(warnings).toEqual([]);
  });

  it('is DEADLINE_EXCEEDED if the server saw the deadline pass first and reset the call', async () => {
    const deadline = Date.now() + 10_000;
    const server = opening(
      await serveSockets((socket) => {
        vi.setSystemTime(deadline);
        resetAfterHeaders(socket, constants.NGHTTP2_CANCEL);
      }),
    );
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const reply = await upstreamAt(server.address).unary(unaryCall({ deadline }));
    expect(reply).toMatchObject({ code: DEADLINE_EXCEEDED, answered: false });
  });
});
