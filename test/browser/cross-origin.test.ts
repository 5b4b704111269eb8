import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { startChromium } from '../support/chromium.js';
import { needs } from '../support/needs.js';
import { startService, tokenFor } from '../support/service.js';

/** Starts a web server of empty pages, on another origin than the service. @returns its origin */
async function startPages(): Promise<string> {
  const server = createServer((_, response) => response.setHeader('Content-Type', 'text/html').end());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it(
  'a service with CORS_ORIGINS lets a script in a browser read responses and errors',
  needs('chromium'),
  async () => {
    const pages = await startPages();
    const service = await startService({
      databaseUrl: 'sqlite::memory:',
      settings: { CORS_ORIGINS: pages },
    });
    onTestFinished(() => service.close());
    const browser = await startChromium();
    onTestFinished(() => browser.close());
    const page = await browser.newPage();
    await page.goto(pages);
    const seen = await page.evaluate(
      async ([url = '', token = '']) => {
        const authorization = `Bearer ${token}`;
        const created = await fetch(`${url}/v1/routing`, {
          method: 'POST',
          headers: { authorization, 'content-type': 'application/json', 'idempotency-key': 'k' },
          body: '{"method":"GET","path":"/","handler":"h"}',
        });
        const got = await fetch(url + String(created.headers.get('location')), {
          headers: { authorization },
        });
        const refused = await fetch(`${url}/v1/unknown`, { headers: { authorization } });
        const unknown = (await refused.json()) as { error: { status: string } };
        return [created.status, await got.text(), await created.text(), unknown.error.status] as const;
      },
      [service.httpUrl, tokenFor()],
    );
    const [status, got, created, unknown] = seen;
    expect([status, got, unknown]).toEqual([201, created, 'NOT_FOUND']);
  },
);
