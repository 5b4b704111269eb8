import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { status } from '@grpc/grpc-js';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Deferred } from '../../packages/transcoder/test/support/deferred.js';
import { type FeedCall, feedMessage, startFeed } from '../../packages/transcoder/test/support/feed-server.js';
import { startChromium } from '../support/chromium.js';
import { needs } from '../support/needs.js';

const DOCUMENT = readFileSync(
  resolve(import.meta.dirname, '../../packages/transcoder/docs/streams-and-files.md'),
  'utf8',
);
const [, SNIPPET = ''] = /```js\n(const source = new EventSource[^]*?)```/.exec(DOCUMENT) ?? [];
const PAGE = `<!doctype html><link rel="icon" href="data:,"><ol></ol><script>
const add = (text) => document.querySelector('ol').append(Object.assign(document.createElement('li'), { textContent: text }));
const show = ({ number, text }) => add(number + ' ' + text);
const report = ({ code, status, message }) => add([code, status, message].join(' '));
${SNIPPET}</script>`;

/** The `readyState` of an EventSource that does not reconnect. */
const CLOSED = 2;

describe('the documented EventSource in a browser', needs('chromium'), () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await startChromium();
  });

  afterAll(() => browser.close());

  /** Opens the page, and returns it with the call that it makes. */
  async function open(): Promise<{
    page: Page;
    call: FeedCall;
    shown: () => Promise<string[]>;
    requests: string[];
    complaints: string[];
  }> {
    const asked = new Deferred<FeedCall>();
    const requests: string[] = [];
    const complaints: string[] = [];
    const feed = await startFeed(asked.resolve, {}, (handler) => (request, response) => {
      requests.push(String(request.url));
      if (request.url === '/') response.setHeader('Content-Type', 'text/html').end(PAGE);
      else handler(request, response);
    });
    const page = await browser.newPage();
    page.on('console', (message) => complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(error.message));
    await page.goto(feed.origin);
    const shown = (): Promise<string[]> => page.locator('li').allTextContents();
    return { page, call: await asked.promise, shown, requests, complaints };
  }

  it.each<[string, (call: FeedCall) => void, string[]]>([
    ['ends', (call) => call.end(), []],
    [
      'fails',
      (call) => call.emit('error', { code: status.ABORTED, details: 'It failed.' }),
      ['409 ABORTED It failed.'],
    ],
  ])(
    'shows each message as it arrives, closes when the stream %s, and sends one request',
    async (_, end, last) => {
      const { page, call, shown, requests, complaints } = await open();
      call.write(feedMessage('Entry', { number: 1, text: 'line\nbreak é' }));
      await expect.poll(shown).toEqual(['1 line\nbreak é']);
      call.write(feedMessage('Entry', { number: 2, text: 'two' }));
      await expect.poll(shown).toEqual(['1 line\nbreak é', '2 two']);
      end(call);
      await expect.poll(() => page.evaluate('source.readyState')).toBe(CLOSED);
      expect(await shown()).toEqual(['1 line\nbreak é', '2 two', ...last]);
      expect(requests).toEqual(['/', '/v1/topics/news/entries']);
      expect(complaints).toEqual([]);
    },
  );
});
