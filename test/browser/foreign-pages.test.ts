import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Request } from 'playwright-core';
import { expect, it, onTestFinished } from 'vitest';
import { opening } from '../../packages/transcoder/test/support/opening.js';
import { startReflecting } from '../../packages/transcoder/test/support/reflecting-server.js';
import { originOf, startCommand } from '../../packages/transcoder/test/support/running-command.js';
import { startChromium } from '../support/chromium.js';
import { needs } from '../support/needs.js';

/** Starts a web server with one page. @returns its port */
async function startPage(html: string): Promise<number> {
  const server = createServer((_, response) => response.setHeader('Content-Type', 'text/html').end(html));
  await once(opening(server).listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}

it.each(['localhost', '127.0.0.1'])(
  'a page at %s on another port calls no server through the command, but links to its page',
  needs('chromium'),
  async (host) => {
    const { address, calls } = opening(await startReflecting());
    const origin = await originOf(startCommand('--target', address));
    const greeting = `${origin}/v1/greetings/Ada`;
    const port = await startPage(
      `<img src="${greeting}"><script src="${greeting}"></script><iframe src="${greeting}"></iframe>
       <link rel="stylesheet" href="${greeting}"><a href="${origin}/docs">page</a><a href="${greeting}">call</a>`,
    );
    const browser = await startChromium();
    onTestFinished(() => browser.close());
    const page = await browser.newPage();
    const requests: Request[] = [];
    page.on('request', (request) => requests.push(request));
    await page.goto(`http://${host}:${port}`);
    await page.evaluate((url) => fetch(url, { mode: 'no-cors' }), greeting);
    await page.getByText('call').click();
    await page.waitForURL(greeting);
    const asked = requests.filter((request) => request.url() === greeting);
    expect(asked.map((request) => request.resourceType()).sort()).toEqual([
      'document',
      'document',
      'fetch',
      'image',
      'script',
      'stylesheet',
    ]);
    expect(calls).toEqual([]);
    await page.goBack();
    await page.getByText('page').click();
    await page.waitForURL(`${origin}/docs`);
    // The page itself calls it.
    expect(await page.evaluate(async (url) => (await fetch(url)).text(), greeting)).toBe(
      '{"text":"Greet Ada"}',
    );
  },
);
