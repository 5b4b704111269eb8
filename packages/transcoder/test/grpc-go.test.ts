import type { OutgoingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { credentials, Metadata, status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { grpcUpstream, type GrpcUpstream } from '../src/grpc-js.js';
import { libraryDescriptorSet } from './support/library-contract.js';
import { listen } from './support/grpc-server.js';
import { startHttp2Server } from './support/http2-server.js';
import { rawExchange } from './support/http-request.js';
import { startTranscoder } from './support/library-transcoder.js';
import { opening } from './support/opening.js';
import { PATH, unaryCall } from './support/unary-call.js';

/** The headers that a grpc-go 1.81.1 server sent before its status, after `SetHeader`. */
const HEADERS: OutgoingHttpHeaders = {
  ':status': 200,
  'content-type': 'application/grpc',
  'x-quota': '1',
};

/** A message of three bytes in its gRPC frame. */
const MESSAGE = Buffer.from([0, 0, 0, 0, 3, 97, 98, 99]);

async function upstreamTo(answer: (stream: ServerHttp2Stream) => void): Promise<GrpcUpstream> {
  const { address } = await startHttp2Server(answer);
  return opening(grpcUpstream(address, { credentials: credentials.createInsecure() }));
}

/** Responds with headers, an optional message, and trailers, as grpc-go does. */
function answering(trailers: OutgoingHttpHeaders, message?: Buffer) {
  return (stream: ServerHttp2Stream): void => {
    stream.respond(HEADERS, { waitForTrailers: true });
    stream.on('wantTrailers', () => {
      stream.sendTrailers(trailers);
    });
    stream.end(message);
  };
}

describe('what grpc-go sends after its headers', () => {
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
    const upstream = await upstreamTo(answering(trailers, message));
    const reply = await upstream.unary(unaryCall());
    expect(reply).toMatchObject({ code, details: text, answered: true });
    expect(reply.initialMetadata?.get('x-quota')).toEqual(['1']);
  });
});

describe('several values of one header', () => {
  it('become the header lines in which grpc-js delivers them', async () => {
    const initialMetadata = new Metadata();
    for (const [key, value] of [
      ['x-a', 'one'],
      ['x-a', 'two'],
      ['set-cookie', 'a=1'],
      ['set-cookie', 'b=2'],
    ] as const)
      initialMetadata.add(key, value);
    const trailers = new Metadata();
    trailers.set('x-a', 'three');
    const server = opening(
      await listen(
        {
          unary: ({ message }) => ({
            code: status.OK,
            details: '',
            answered: true,
            message,
            initialMetadata,
            trailers,
          }),
        },
        [PATH],
      ),
    );
    const upstream = opening(grpcUpstream(server.address, { credentials: credentials.createInsecure() }));
    const transcoder = await startTranscoder({
      descriptorSet: libraryDescriptorSet,
      upstream,
      responseHeaders: new Map([
        ['x-a', 'X-A'],
        ['set-cookie', 'Set-Cookie'],
      ]),
    });
    opening(transcoder);
    const response = await rawExchange(
      transcoder.origin,
      'GET /v1/echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    );
    const lines = response.split('\r\n').filter((line) => /^(?:X-A|Set-Cookie):/.test(line));
    expect(lines).toEqual(['X-A: one, two', 'X-A: three', 'Set-Cookie: a=1', 'Set-Cookie: b=2']);
  });
});
