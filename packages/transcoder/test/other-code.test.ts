import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  request as send,
  type RequestListener,
  type ServerResponse,
} from 'node:http';
import { text } from 'node:stream/consumers';
import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import timeout from 'connect-timeout';
import express from 'express';
import { describe, expect, it } from 'vitest';
import type { RequestOutcome } from '../src/hooks.js';
import { createTranscoder, type Transcoder } from '../src/transcoder.js';
import type { Upstream } from '../src/upstream.js';
import { Deferred } from './support/deferred.js';
import { httpRequest } from './support/http-request.js';
import { feedDescriptorSet, libraryDescriptorSet } from './support/library-contract.js';
import { LibraryServer, MEMBER } from './support/library-server.js';
import { listening } from './support/opening.js';

const library = new LibraryServer();
const shelf = { path: '/v1/shelves/1', headers: { authorization: MEMBER } };

/** A transcoder whose upstream replies when it is told to. */
function waiting() {
  const calls: string[] = [];
  const outcomes: RequestOutcome[] = [];
  const turn = new Deferred();
  const upstream: Upstream = {
    async unary(call) {
      calls.push(call.path);
      await turn.promise;
      return library.unary(call);
    },
    serverStream: () => ({
      async next() {
        await turn.promise;
        return new Uint8Array();
      },
    }),
  };
  const observers = [{ begin: () => ({ end: (outcome: RequestOutcome) => void outcomes.push(outcome) }) }];
  const at = (descriptorSet: Uint8Array): Transcoder['handler'] =>
    createTranscoder({ descriptorSet, upstream, observers }).handler;
  return { handler: at(libraryDescriptorSet), feed: at(feedDescriptorSet), calls, outcomes, turn };
}

const serve = (listener: RequestListener): Promise<string> => listening(createServer(listener));
const busy = (response: ServerResponse): void => void response.writeHead(503).end('busy');

describe('a response of other code', () => {
  it('of connect-timeout ends the request, and the reply that comes later is dropped', async () => {
    const { handler, outcomes, turn } = waiting();
    const app = express().use(timeout('20ms'), handler);
    app.use(((_error, _request, response, next) => {
      expect(next).toBeTypeOf('function');
      busy(response);
    }) satisfies express.ErrorRequestHandler);
    const origin = await serve(app);
    expect(await httpRequest(origin, shelf)).toMatchObject({ status: 503, text: 'busy' });
    turn.resolve();
    await expect.poll(() => outcomes).toMatchObject([{ status: 503, reason: undefined }]);
    expect((await httpRequest(origin, { path: '/nowhere' })).status).toBe(404);
  });

  it('before the transcoder keeps the request from becoming a call', async () => {
    const { handler, calls, outcomes } = waiting();
    const origin = await serve((request, response) => {
      response.writeHead(401).end();
      handler(request, response);
    });
    expect((await httpRequest(origin, shelf)).status).toBe(401);
    await expect.poll(() => outcomes).toMatchObject([{ status: 401 }]);
    expect(calls).toEqual([]);
  });

  it('while the body arrives keeps the request from becoming a call', async () => {
    const { handler, calls, outcomes } = waiting();
    const origin = await serve((request, response) => {
      handler(request, response);
      setTimeout(() => {
        response.writeHead(503).flushHeaders();
      }, 20);
      request.once('end', () => response.end('busy'));
    });
    const { hostname, port } = new URL(origin);
    const headers = { authorization: MEMBER, 'content-type': 'application/json', 'content-length': 2 };
    const sent = send({ hostname, port, path: '/v1/shelves', method: 'POST', headers, agent: false });
    sent.flushHeaders();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    sent.end('{}');
    expect([response.statusCode, await text(response)]).toEqual([503, 'busy']);
    await expect.poll(() => outcomes).toMatchObject([{ status: 503 }]);
    expect(calls).toEqual([]);
  });

  it('of response.setTimeout ends the request', async () => {
    const { handler, outcomes, turn } = waiting();
    const origin = await serve((request, response) => {
      response.setTimeout(20, () => {
        busy(response);
      });
      handler(request, response);
    });
    expect((await httpRequest(origin, shelf)).status).toBe(503);
    turn.resolve();
    await expect.poll(() => outcomes).toMatchObject([{ status: 503 }]);
  });

  it.each(['text/event-stream', 'application/x-ndjson'])('ends a stream of %s', async (accept) => {
    const { feed, outcomes, turn } = waiting();
    const origin = await serve((request, response) => {
      feed(request, response);
      setTimeout(busy, 20, response);
    });
    const response = await httpRequest(origin, {
      path: '/v1/topics/news/entries',
      headers: { ...shelf.headers, accept },
    });
    expect(response.status).toBe(503);
    turn.resolve();
    await expect.poll(() => outcomes).toMatchObject([{ status: 503 }]);
  });

  it('that is ended in the middle of a body in pieces loses the rest', async () => {
    const { respond } = createTranscoder({ descriptorSet: libraryDescriptorSet, upstream: library });
    const origin = await serve((request, response) => {
      async function* body(): AsyncGenerator<Uint8Array> {
        yield Buffer.from('one');
        response.end();
        yield Buffer.from('two');
        await pause(20);
        yield Buffer.from('three');
      }
      respond(request, response, () => ({ status: 200, headers: {}, body: body() }));
    });
    expect((await httpRequest(origin, { path: '/' })).text).toBe('one');
  });
});

/** A transcoder with the lines of its log. */
function logged() {
  const lines: string[] = [];
  const add = (_: object, message: string): void => void lines.push(message);
  const log = { debug: add, info: add, warn: add, error: add };
  return { lines, ...createTranscoder({ descriptorSet: libraryDescriptorSet, upstream: library, log }) };
}

describe('an answer that is', () => {
  it.each([
    { what: 'nothing', answer: () => undefined },
    { what: 'of a status that HTTP lacks', answer: () => ({ status: 7, headers: {} }) },
    { what: 'a promise of nothing', answer: () => Promise.resolve() },
  ])('$what is a 500, which fails alone', async ({ answer }) => {
    const { respond, lines } = logged();
    const origin = await serve((request, response) => {
      respond(request, response, answer as never);
    });
    expect((await httpRequest(origin, { path: '/' })).status).toBe(500);
    await expect.poll(() => lines).toContain('request failed');
  });

  it('broken off by a fault is cut, since its head may have been sent', async () => {
    const { respond, lines } = logged();
    const answer = () => ({
      status: 200,
      headers: {},
      body: (async function* () {
        yield await Promise.reject<Uint8Array>(new Error('broken'));
      })(),
      brokenOff: () => {
        throw new Error('a fault');
      },
    });
    const origin = await serve((request, response) => {
      respond(request, response, answer);
    });
    await expect(httpRequest(origin, { path: '/' })).rejects.toThrow(/socket hang up|aborted/);
    await expect.poll(() => lines).toContain('request failed');
  });

  it('whole, and followed by a fault, is told in the log', async () => {
    const { respond, lines } = logged();
    const reply = { status: 200, headers: {}, body: Readable.from([Buffer.from('whole')]) };
    const brokenOff = (): never => {
      throw new Error('a fault');
    };
    const origin = await serve((request, response) => {
      respond(request, response, () => ({ ...reply, brokenOff }));
    });
    expect((await httpRequest(origin, { path: '/' })).text).toBe('whole');
    await expect.poll(() => lines).toContain('request failed');
  });

  it.each([
    { replaced: 'writeHead', body: 'x' },
    { replaced: 'end', body: 'x' },
    { replaced: 'write', body: 'x'.repeat(20_000) },
  ])('refused by what replaces $replaced is cut', async ({ replaced, body }) => {
    const { respond } = logged();
    const origin = await serve((request, response) => {
      Object.defineProperty(response, replaced, {
        value: () => {
          throw new Error('a fault');
        },
      });
      respond(request, response, () => ({ status: 200, headers: {}, body }));
    });
    await expect(httpRequest(origin, { path: '/' })).rejects.toThrow(/socket hang up|aborted/);
  });
});
