import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { createGunzip } from 'node:zlib';
import compression from 'compression';
import express from 'express';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Deferred } from '../support/deferred.js';
import { feedMessage, startFeed } from '../support/feed-server.js';

/** Compresses badly, so that the connection is the bottleneck. */
const LARGE = Buffer.from(
  Uint32Array.from({ length: 200_000 }, (_, index) => Math.imul(index, 2654435761)).buffer,
);
const ENTRIES = '/v1/topics/news/entries';
const GZIP = { 'accept-encoding': 'gzip' };

type Answer = Parameters<typeof startFeed>[0];
type Unary = Parameters<typeof startFeed>[3];

/** A gateway whose handler Express calls after `compression()`. */
async function startCompressing(answer: Answer, unary?: Unary): Promise<string> {
  const { origin } = await startFeed(
    answer,
    { maxBodyBytes: LARGE.length },
    (handler) => express().use(compression(), handler),
    unary,
  );
  return origin;
}

const noStream = (): void => undefined;

/** Sends a request that accepts gzip. Returns the response with its content unread. */
async function responseTo(url: string, accept = '*/*'): Promise<IncomingMessage> {
  const request = get(url, { agent: false, headers: { ...GZIP, accept } });
  onTestFinished(() => void request.destroy());
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return response;
}

describe('behind compression()', () => {
  it('large JSON arrives compressed and complete', async () => {
    const origin = await startCompressing(noStream);
    const answer = await fetch(`${origin}/v1/files/large`, { method: 'PUT', body: LARGE });
    expect(answer.headers.get('content-encoding')).toMatch(/^(?:br|gzip|deflate)$/);
    expect(await answer.json()).toMatchObject({ content: { data: LARGE.toString('base64') } });
  });

  it('bytes of a compressible type arrive compressed and complete, even at a slow client', async () => {
    const message = feedMessage('google.api.HttpBody', {
      contentType: 'text/csv',
      data: LARGE.toString('base64'),
    });
    const origin = await startCompressing(noStream, () => message);
    const response = await responseTo(`${origin}/v1/files/large`);
    expect(response.headers['content-encoding']).toBe('gzip');
    const chunks: Buffer[] = [];
    for await (const chunk of response.pipe(createGunzip())) {
      chunks.push(chunk as Buffer);
      await new Promise(setImmediate);
    }
    expect(Buffer.concat(chunks).equals(LARGE)).toBe(true);
  });

  it.each([
    ['lines', '*/*', '{"number":1,"text":"","content":""}\n'],
    ['events', 'text/event-stream', 'data: {"number":1,"text":"","content":""}\n\n'],
  ])('the messages of a stream arrive one by one as %s', async (_, accept, first) => {
    const next = new Deferred();
    const origin = await startCompressing((call) => {
      call.write(feedMessage('Entry', { number: 1 }));
      void next.promise.then(() => {
        call.write(feedMessage('Entry', { content: LARGE.toString('base64') }));
        call.end();
      });
    });
    const response = await responseTo(origin + ENTRIES, accept);
    expect(response.headers).not.toHaveProperty('content-encoding');
    const [chunk] = (await once(response, 'data')) as [Buffer];
    expect(chunk.toString()).toBe(first);
    next.resolve();
    expect(await text(response)).toContain(LARGE.toString('base64'));
  });
});
