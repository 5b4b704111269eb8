import { createServer } from 'node:http';
import { Metadata } from '@grpc/grpc-js';
import express from 'express';
import { describe, expect, it } from 'vitest';
import { Code } from '../../src/gen/google/rpc/code_pb.js';
import { ReplyHeaders, type ResponseHeaders } from '../../src/metadata/response-headers.js';
import { createTranscoder } from '../../src/transcoder.js';
import type { ReplyMetadata, UnaryReply } from '../../src/upstream.js';
import { httpRequest, rawExchange } from '../support/http-request.js';
import { libraryDescriptorSet } from '../support/library-contract.js';
import { MEMBER } from '../support/library-server.js';
import { openTranscoder } from '../support/library-transcoder.js';
import { listening } from '../support/opening.js';

/** The headers of a response for a reply with metadata. */
async function headersOf(
  headers: ResponseHeaders,
  initial: Record<string, string>,
  trailing?: Record<string, string>,
): Promise<Record<string, unknown>> {
  const reply: UnaryReply = {
    code: Code.OK,
    details: '',
    answered: true,
    initialMetadata: metadata(initial),
    trailers: trailing && metadata(trailing),
  };
  const replyHeaders = new ReplyHeaders(headers);
  const server = createServer((_, response) => {
    replyHeaders.addTo(response, reply);
    response.end();
  });
  const response = await httpRequest(await listening(server), { path: '/' });
  const { date, connection, 'keep-alive': alive, 'content-length': length, ...others } = response.headers;
  expect([connection, length]).toEqual(['close', '0']);
  expect(date).not.toBe('1');
  expect(alive).toBeUndefined();
  return others;
}

function metadata(entries: Record<string, string>): Metadata {
  const made = new Metadata();
  for (const [key, value] of Object.entries(entries))
    made.set(key, key.endsWith('-bin') ? Buffer.from(value) : value);
  return made;
}

describe('the headers of a response, from metadata', () => {
  it('may be all metadata with a prefix, but for that of gRPC itself', async () => {
    const initial = {
      'x-quota': '7',
      'content-type': 'application/grpc',
      'grpc-encoding': 'gzip',
      date: '1',
    };
    const trailing = { 'x-quota': '6', 'x-cost': '2', 'grpc-status': '0', 'x-bytes-bin': 'a' };
    expect(await headersOf(new Map([['*', 'Grpc-Metadata-*']]), initial, trailing)).toEqual({
      'grpc-metadata-x-quota': '7, 6',
      'grpc-metadata-x-cost': '2',
      'grpc-metadata-date': '1',
    });
  });

  it.each<[sent: Record<string, string>, why: string, headers: ResponseHeaders]>([
    [{ 'x-a': '1', 'x-b-c': '2' }, 'a prefix may stay', new Map([['x-*', 'X-*']])],
    [{ 'b-c': '2' }, 'others are not sent', new Map([['x-b-*', 'B-*']])],
    [
      { a: '1', 'y-c': '2' },
      'the key takes precedence, then the longest prefix',
      new Map([
        ['x-*', 'X-*'],
        ['x-b-*', 'Y-*'],
        ['x-a', 'A'],
      ]),
    ],
    [
      { 'x-a': '1' },
      'a prefix gives no header of another entry',
      new Map([
        ['y', 'X-B-C'],
        ['x-*', 'X-*'],
      ]),
    ],
    [{ 'x-a': '1', 'x-b-c': '2' }, 'Node writes the date', new Map([['*', '*']])],
  ])('are %j: %s', async (sent, _, headers) => {
    expect(await headersOf(headers, { 'x-a': '1', 'x-b-c': '2', date: '1' })).toEqual(sent);
  });

  it('are none by prefix where the metadata does not list its keys', async () => {
    const listed = metadata({ 'x-a': '1' });
    const reply = { code: Code.OK, details: '', answered: true, message: new Uint8Array() };
    const trailers = { get: (key: string) => listed.get(key) };
    const gateway = await openTranscoder({
      upstream: { unary: () => ({ ...reply, trailers }) },
      responseHeaders: new Map([
        ['*', 'Grpc-Metadata-*'],
        ['x-a', 'X-A'],
      ]),
    });
    const { headers } = await httpRequest(gateway.origin, {
      path: '/v1/shelves/1',
      headers: { authorization: MEMBER },
    });
    expect(headers).toMatchObject({ 'x-a': '1' });
    expect(headers).not.toHaveProperty('grpc-metadata-x-a');
  });

  it.each<[string, ResponseHeaders]>([
    ['"x-*" stands for several names, and "X-A" for one', new Map([['x-*', 'X-A']])],
    ['"x-a" stands for one name, and "X-*" for several', new Map([['x-a', 'X-*']])],
    ['"A B-*" is not the name of a header', new Map([['x-*', 'A B-*']])],
    ['"A B" is not the name of a header', new Map([['x-a', 'A B']])],
    ...['Content-Type', 'eTag', 'Transfer-Encoding'].map((name): [string, ResponseHeaders] => [
      `The header "${name}" is written by the transcoder or by Node`,
      new Map([['x-a', name]]),
    ]),
  ])('cannot be made if %s', (why, headers) => {
    expect(() => new ReplyHeaders(headers)).toThrow(why);
  });
});

describe('the metadata of a whole reply', () => {
  const initialMetadata = replyMetadata({
    'set-cookie': ['a=1', 'b=2'],
    'x-both': ['first'],
    'x-lines': ['a\r\nset-cookie: c=3', 'a\nb', 'a\0', 'fine', 'with\ttab'],
    'x-bytes-bin': [new Uint8Array([1])],
  });
  const trailers = replyMetadata({ 'x-both': ['last'], 'x-unnamed': ['secret'] });
  const responseHeaders = new Map([
    ['set-cookie', 'Set-Cookie'],
    ['x-both', 'X-Both'],
    ['x-lines', 'Content-Disposition'],
    ['x-bytes-bin', 'X-Bytes'],
    ['x-none', 'X-None'],
  ]);
  const replying = (reply: UnaryReply) =>
    openTranscoder({ upstream: { unary: () => reply }, responseHeaders });

  it.each([
    { what: 'success', code: Code.OK, message: new Uint8Array(), status: 200 },
    { what: 'failure', code: Code.NOT_FOUND, message: undefined, status: 404 },
  ])('becomes headers of a $what if the options name it, with one line per value', async (outcome) => {
    const { code, message, status } = outcome;
    const reply = { code, details: '', answered: true, message, initialMetadata, trailers };
    const { origin } = await replying(reply);
    const asked = { path: '/v1/shelves/1', headers: { authorization: MEMBER } };
    const { headers, ...response } = await httpRequest(origin, asked);
    expect(response.status).toBe(status);
    expect(headers['set-cookie']).toEqual(['a=1', 'b=2']);
    expect(headers['x-both']).toBe('first, last');
    expect(headers['content-disposition']).toBe('fine, with\ttab');
    expect(headers).not.toHaveProperty('x-bytes');
    expect(headers).not.toHaveProperty('x-none');
    expect(JSON.stringify(headers)).not.toContain('secret');
  });

  it.each([
    { what: 'whose request is invalid', content: '{', lines: ['Content-Length: 1'] },
    { what: 'whose body is late', content: '', lines: ['Content-Length: 1'] },
    { what: 'whose head is invalid', content: '', lines: ['Request-Timeout: soon'] },
  ])('becomes headers of the refusal of a client by the guard, $what', async ({ content, lines }) => {
    const refusal = { code: Code.UNAUTHENTICATED, details: '', answered: true, initialMetadata, trailers };
    const { origin } = await openTranscoder({ guard: () => refusal, responseHeaders });
    const head = ['POST /v1/shelves HTTP/1.1', 'Host: a', 'Connection: close', ...lines];
    const received = await rawExchange(origin, `${head.join('\r\n')}\r\n\r\n${content}`);
    expect(received).toContain('HTTP/1.1 401');
    expect(received.match(/^(?:set-cookie|x-both): .*/gim)).toEqual([
      'Set-Cookie: a=1',
      'Set-Cookie: b=2',
      'X-Both: first',
      'X-Both: last',
    ]);
  });

  it('is added to the headers that middleware has set', async () => {
    const reply = { code: Code.OK, details: '', answered: true, message: new Uint8Array(), initialMetadata };
    const { handler } = createTranscoder({
      descriptorSet: libraryDescriptorSet,
      upstream: { unary: () => reply },
      responseHeaders,
    });
    const app = express().use((_, response, next) => {
      response.setHeader('Set-Cookie', 'session=1');
      next();
    }, handler);
    const origin = await listening(createServer(app));
    const { headers } = await httpRequest(origin, { path: '/v1/shelves/1' });
    expect(headers['set-cookie']).toEqual(['session=1', 'a=1', 'b=2']);
  });
});

function replyMetadata(entries: Readonly<Record<string, readonly (string | Uint8Array)[]>>): ReplyMetadata {
  return { get: (key) => entries[key] ?? [] };
}
